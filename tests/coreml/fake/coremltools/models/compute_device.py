class MLCPUComputeDevice:
    pass


class MLGPUComputeDevice:
    pass


class MLNeuralEngineComputeDevice:
    pass


DEVICES = {"cpu": MLCPUComputeDevice, "gpu": MLGPUComputeDevice, "ane": MLNeuralEngineComputeDevice}
