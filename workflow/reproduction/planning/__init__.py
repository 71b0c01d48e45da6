"""Before anything is computed: the papers, the checked configuration, the jobs, and what a job is hashed by."""
