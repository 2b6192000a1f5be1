"""What a norm does to a vector."""

from explorer.ui.page import open_page

page = open_page("normalization")
