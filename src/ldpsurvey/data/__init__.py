"""Files of records: how they are read, and the tables of counts and weights made of them."""
