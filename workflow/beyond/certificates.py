"""Certificates of the optima over F at the levels of Figure 2 of lopuhaa2024."""

from __future__ import annotations

from functools import partial

from papers.lopuhaa2024 import certificates

#: As of `papers.lopuhaa2024.certificates`.
documents = partial(certificates.documents, paper="beyond")
