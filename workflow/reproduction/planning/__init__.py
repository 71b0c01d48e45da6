"""Before anything is computed: the papers, the checked configuration, and the jobs with their hashes."""
