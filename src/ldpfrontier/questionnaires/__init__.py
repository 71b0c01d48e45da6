"""Questionnaires: mechanisms that answer several questions under one promise, and their estimates."""
