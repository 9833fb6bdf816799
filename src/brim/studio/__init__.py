"""The studio: a local web page that shows the store and the settings of a project.

`access` decides which requests are served, and `workspace` which store and settings they read. Each module in `views`
returns one screen of the page as JSON. Nothing here decides what a prompt keeps or drops.
"""
