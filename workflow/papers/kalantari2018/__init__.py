"""kalantari2018: see paper.yaml beside this file."""
