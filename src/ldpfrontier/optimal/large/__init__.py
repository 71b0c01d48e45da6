"""What large tables and alphabets need alone: functions that call it import it when they run."""
