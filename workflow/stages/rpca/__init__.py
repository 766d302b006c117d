"""RPCA and RCCA beside exact kernel methods."""
