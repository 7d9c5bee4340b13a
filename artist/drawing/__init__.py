"""Drawing: styles, panels, axes and image files that every figure shares, whatever it shows."""
