"""Questionnaires: channels for many questions, their reports and their estimates, from files to tables."""
