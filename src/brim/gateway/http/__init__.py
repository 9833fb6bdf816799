"""The server: listens, admits requests, and reports errors in the format of each route."""
