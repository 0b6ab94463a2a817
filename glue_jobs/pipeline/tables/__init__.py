"""The finalised tables of a history, a module each: the contract (`SCHEMA`) and the one function that makes it.

All of them are functions of the registers and of the events of all parts, so the same landed files give the same rows, byte for byte, in
any order of arrival. So nothing here adds floating point numbers (their sum depends on the order): times and prices are added as whole
micro- and nanounits.
"""
