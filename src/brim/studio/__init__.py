"""The studio: a page on the store and the settings of a project, served to this machine alone.

guard decides who may come in, desk what is looked at, and each view (sessions, lab, receipts, flows, health) turns what
the core knows into JSON values. Nothing here decides what is kept or dropped.
"""
