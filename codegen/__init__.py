"""From the typed graph to what the Apple Neural Engine takes: MIL text, weight files, an mlpackage, a manifest."""
