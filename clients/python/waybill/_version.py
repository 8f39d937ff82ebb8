"""The version of the package: that of Waybill."""
__version__ = "1.0.0"
