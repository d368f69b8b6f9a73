// A write under some strategies, as another package makes it. `run.py` looks at the machine code.
import LatchkeyStrategies

/// One call for the lock and one for the unlock.
public func writeUnderLock(_ value: Synchronized<Int, LockStrategy>) {
    value.write { $0 &+= 1 }
}

/// Calls nothing but the lock's slow path.
public func writeUnderSpin(_ value: Synchronized<Int, SpinStrategy>) {
    value.write { $0 &+= 1 }
}

/// Calls nothing but the lock's slow paths.
public func writeUnderAdaptive(_ value: Synchronized<Int, AdaptiveStrategy>) {
    value.write { $0 &+= 1 }
}

/// The toolchain's code, and nothing between that and the body.
public func writeUnderMutex(_ value: Synchronized<Int, MutexStrategy>) {
    value.write { $0 &+= 1 }
}

/// Compiled for every strategy at once: what the check must find.
public func writeUnderAny<ChosenStrategy: BlockingStrategy>(
    _ value: Synchronized<Int, ChosenStrategy>
) {
    value.write { $0 &+= 1 }
}

/// The code of `writeUnderAdaptive`, with another body: the compiler makes one function of two that
/// are the same.
public func withLockUnderAdaptive(_ value: Synchronized<Int, AdaptiveStrategy>) {
    value.withLock { $0 ^= 1 }
}
