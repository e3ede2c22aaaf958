"""What the pages of the studio share: uploads, jobs, run store, scenarios, exports; none knows Streamlit."""
