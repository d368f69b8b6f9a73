public import LatchkeyStrategies

/// The additions of a program to a comparison: strategies of its own, and a workload.
///
/// The catalogue of `latchkey compare` is empty.
@usableFromInline
package struct Catalogue: Sendable {
    package private(set) var strategies: [RegisteredStrategy] = []
    package private(set) var workload: OwnWorkload?
    /// The program that it belongs to, if it is not `latchkey`.
    package var program: String?

    @usableFromInline
    package init() {}

    /// A catalogue with a workload, which is measured instead of the built-in one.
    @usableFromInline
    package init(_ workload: OwnWorkload) {
        self.workload = workload
    }

    /// Adds a strategy.
    @usableFromInline
    package mutating func add(_ strategy: RegisteredStrategy) {
        strategies.append(strategy)
    }

    /// All names, ours last.
    package var names: [StrategyName] {
        strategies.map(\.name) + StrategyKind.allCases.map(StrategyName.init)
    }

    package func strategy(_ name: StrategyName) -> RegisteredStrategy? {
        strategies.first { $0.name == name }
    }

    /// The promises of a strategy, ours or registered.
    package func traits(_ name: StrategyName) -> StrategyTraits {
        strategy(name)?.traits ?? name.kind?.traits ?? .unknown
    }

    /// Checks a strategy by its name, ours or the program's.
    func verdicts(
        _ name: StrategyName,
        isInterrupted: @escaping @Sendable () -> Bool
    ) -> [ComparisonReport.Verdict] {
        if let strategy = strategy(name) {
            let bound = BoundedWait(
                seconds: BoundedWait.secondsForOwn,
                isInterrupted: isInterrupted
            )
            return strategy.verdicts(bound)
        }
        return name.kind.map {
            StrategyVerdicts.check($0, isInterrupted: isInterrupted)
        } ?? []
    }

    /// How long a strategy may take to return when it is told to stop.
    func stopSeconds(_ subject: CaseSubject) -> Double {
        guard case .strategy(let name) = subject, strategy(name) != nil else {
            return BoundedWait.secondsDefault
        }
        return BoundedWait.secondsForOwn
    }

    /// Says which name cannot be used, if one cannot.
    package func validate() throws(ComparisonError) {
        var taken: Set<String> = ["all"]
        taken.formUnion(ComparisonReport.Baseline.allCases.map(\.rawValue))
        for name in strategies.map(\.name) {
            let text = name.rawValue
            guard text.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,39}/) != nil else {
                throw ComparisonError(
                    "A strategy cannot be called '\(text)': a name has 1 to 40 of the characters "
                        + "a-z, A-Z, 0-9, '-', '_' and '.', and begins with a letter or a digit."
                )
            }
            guard name.kind == nil else {
                throw ComparisonError(
                    "A strategy cannot be called '\(text)': that is one of Latchkey's."
                )
            }
            guard taken.insert(text).inserted else {
                throw ComparisonError("A strategy cannot be called '\(text)': the name is taken.")
            }
        }
        if let workload {
            let isPlain = workload.name.unicodeScalars.allSatisfy { $0.value >= 32 }
            guard isPlain, (1...60).contains(workload.name.count) else {
                throw ComparisonError("The name of a workload has 1 to 60 printable characters.")
            }
        }
    }
}

/// A strategy that a program has registered, as closures that were compiled for it.
@usableFromInline
package struct RegisteredStrategy: Sendable {
    @usableFromInline
    typealias Measuring = @Sendable (Slice) throws(MeasurementFailure) -> SliceResult

    @usableFromInline package let name: StrategyName
    @usableFromInline package let traits: StrategyTraits
    @usableFromInline let slice: Measuring
    @usableFromInline let verdicts: @Sendable (_ bound: BoundedWait) -> [ComparisonReport.Verdict]

    /// A strategy that can block.
    ///
    /// - Parameters:
    ///   - name: The name in the report.
    ///   - workload: The program's, if it has one.
    ///   - make: Makes the strategy of one value.
    @inlinable
    package init<ChosenStrategy: BlockingStrategy, Value: Sendable>(
        _ name: String,
        _ workload: Workload<Value>?,
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) {
        self.name = StrategyName(rawValue: name)
        traits = ChosenStrategy.traits
        slice = { (slice) throws(MeasurementFailure) in
            if let workload {
                return try SliceRunner(slice, OwnSection(workload)).blocking(name, make)
            }
            if slice.hasOneKey {
                return try SliceRunner(slice, SyntheticSection<OneValue>(slice))
                    .blocking(name, make)
            }
            return try SliceRunner(slice, SyntheticSection<ManyValues>(slice))
                .blocking(name, make)
        }
        verdicts = { StrategyVerdicts.check(blocking: make, as: name, bound: $0) }
    }

    /// A strategy that only has submitting access functions.
    @inlinable
    package init<ChosenStrategy: Strategy, Value: Sendable>(
        submitting name: String,
        _ workload: Workload<Value>?,
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) {
        self.name = StrategyName(rawValue: name)
        traits = ChosenStrategy.traits
        slice = { (slice) throws(MeasurementFailure) in
            if let workload {
                return try SliceRunner(slice, OwnSection(workload)).submitting(name, make)
            }
            if slice.hasOneKey {
                return try SliceRunner(slice, SyntheticSection<OneValue>(slice))
                    .submitting(name, make)
            }
            return try SliceRunner(slice, SyntheticSection<ManyValues>(slice))
                .submitting(name, make)
        }
        verdicts = { StrategyVerdicts.check(submitting: make, as: name, bound: $0) }
    }
}

/// A workload, as closures that were compiled for its value.
@usableFromInline
package struct OwnWorkload: Sendable {
    @usableFromInline package let name: String
    @usableFromInline let slice:
        @Sendable (StrategyKind, Slice) throws(MeasurementFailure) -> SliceResult
    @usableFromInline let unsynchronized: RegisteredStrategy.Measuring
}

extension OwnWorkload {
    /// - Parameter workload: The program's description.
    @inlinable
    package init<Value: Sendable>(_ workload: Workload<Value>) {
        name = workload.name
        slice = { (kind, slice) throws(MeasurementFailure) in
            try kind.accept(SliceRunner(slice, OwnSection(workload)))
        }
        unsynchronized = { (slice) throws(MeasurementFailure) in
            try SliceRunner(slice, OwnSection(workload)).unsynchronized()
        }
    }

    /// The section of `latchkey compare`, which belongs to no program.
    static let builtIn = OwnWorkload(name: "") { (kind, slice) throws(MeasurementFailure) in
        slice.hasOneKey
            ? try kind.accept(SliceRunner(slice, SyntheticSection<OneValue>(slice)))
            : try kind.accept(SliceRunner(slice, SyntheticSection<ManyValues>(slice)))
    } unsynchronized: { (slice) throws(MeasurementFailure) in
        slice.hasOneKey
            ? try SliceRunner(slice, SyntheticSection<OneValue>(slice)).unsynchronized()
            : try SliceRunner(slice, SyntheticSection<ManyValues>(slice)).unsynchronized()
    }
}
