"""What the stages share: settings, outcomes, tables, figures, claims, the page, provenance."""
