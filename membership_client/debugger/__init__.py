"""What traces tell: replay, diagnosis, report."""
