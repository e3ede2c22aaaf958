"""Gradient boosting with collective inference (Alodah, Neville): GB, RGB and MGB."""
