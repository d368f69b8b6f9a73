// A write under some strategies, as another package makes it. `run.py` looks at the machine code.
import LatchkeyStrategies

public func writeUnderLock(_ value: Synchronized<Int, LockStrategy>) {
    value.write { $0 &+= 1 }
}

public func writeUnderSpin(_ value: Synchronized<Int, SpinStrategy>) {
    value.write { $0 &+= 1 }
}

public func writeUnderAdaptive(_ value: Synchronized<Int, AdaptiveStrategy>) {
    value.write { $0 &+= 1 }
}

public func writeUnderMutex(_ value: Synchronized<Int, MutexStrategy>) {
    value.write { $0 &+= 1 }
}

// Compiled for every strategy at once: what the check must find.
public func writeUnderAny<ChosenStrategy: BlockingStrategy>(
    _ value: Synchronized<Int, ChosenStrategy>
) {
    value.write { $0 &+= 1 }
}
