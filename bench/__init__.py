"""The costs of brim, compared with those of its peers on the same input in the same run.

make bench                       everything, peers in an environment of their own
python -m bench counting --quick one benchmark, a tenth of the size
"""
