"""Result tables: their schemas, the rows they are built of, and the files they are kept in."""
