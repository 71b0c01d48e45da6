"""The least error of estimates of more inputs than extreme rays are listed for."""
