"""What each page draws and does, a room a page; Streamlit only in their files named widgets."""
