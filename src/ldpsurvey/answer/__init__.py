"""From the person who answers to a file of reports: codes to be read out, what came in, and cards."""
