internal import LatchkeyContention
internal import LatchkeyMachine
internal import LatchkeyStrategies

/// Measures cases on services of their own: `latchkey compare --transport http`.
///
/// The service is started once for each strategy and number of stripes; all of them stay up, idle,
/// while `wrk` drives one after the other, so that repeats are interleaved as they are in process.
/// One repeat has the figures of the client (throughput, response times) and those of the service
/// (wait, hold, contention, hand-offs, processor time). The load generator and the service share
/// the processors. The values in the services are not checked.
package struct HTTPComparison: ComparisonMethod {
    /// More properties than this take longer to make than to measure.
    package static let keysMax = 10_000

    /// The method, for readers of the figures.
    ///
    /// A report of 0.1 can have an open loop.
    package static func method(_ arrival: Arrival) -> String {
        (arrival == .closed
            ? "Over HTTP the response time is as wrk corrects it for requests that it could not "
                + "send; refused requests are included. wrk"
            : "Each request is sent when it is due, or when a connection is free. The client")
            + " has one thread, on the same processors as the service, which samples its "
            + "contention during the whole run. The checks ran in this process."
    }

    /// One running service serves all cases with the same two.
    struct Service: Hashable {
        var strategy: StrategyKind
        var stripes: Int
    }

    /// The first load on a service is discarded.
    private static let warmUpSeconds = 1
    private static let warmUpConnections = 8

    private let services: [Service]
    private let settings: ComparisonSettings
    private let executable: String
    private let load: LoadGenerator
    private let isInterrupted: @Sendable () -> Bool
    private let probe: CacheLineProbe

    private var processes: [Service: ServiceProcess] = [:]
    private var lostCounts: [String: Int] = [:]
    private(set) var instrument = ComparisonReport.InstrumentCost.measure(
        metered: [],
        systemCallsMissing: "They are not counted over HTTP."
    )

    /// - Throws: A sentence if `wrk` is missing.
    init(
        _ settings: ComparisonSettings,
        _ schedule: Schedule,
        executable: String,
        probe: CacheLineProbe = CacheLineProbe(),
        isInterrupted: @escaping @Sendable () -> Bool
    ) throws(ComparisonError) {
        self.settings = settings
        self.probe = probe
        self.executable = executable
        self.isInterrupted = isInterrupted
        services = schedule.cases.map { Self.service($0, settings) }.uniqued()
        load = try LoadGenerator(seed: settings.seed)
        instrument.meteringNanosecondsPerOperation = 0
        instrument.samplingMean = 0
    }

    static func service(_ planned: PlannedCase, _ settings: ComparisonSettings) -> Service {
        var strategy = settings.strategies[0].kind ?? .standard
        // A baseline touches no property, so that any service will do.
        if case .strategy(let name) = planned.subject, let kind = name.kind { strategy = kind }
        return Service(strategy: strategy, stripes: planned.workload.stripes)
    }

    var preparations: [String] {
        services.map { "starting \($0.strategy.rawValue)" }
    }

    var preparationSeconds: Double { 1.3 }
    var repeatSeconds: Double { settings.durationSeconds * 1.1 }

    mutating func prepare(_ index: Int) throws(MeasurementFailure) {
        let service = services[index]
        try unlessInterrupted { () throws(ComparisonError) in
            let process = try ServiceProcess(
                service,
                executable: executable,
                isInterrupted: isInterrupted
            )
            processes[service] = process
            try process.prepare(
                keys: min(settings.keys.max() ?? 1, Self.keysMax),
                isInterrupted: isInterrupted
            )
            try warmUp(process)
        }
    }

    mutating func measure(
        _ planned: PlannedCase,
        repeatIndex: Int
    ) throws(MeasurementFailure) -> ComparisonReport.Repeat {
        try unlessInterrupted { () throws(ComparisonError) in
            let service = Self.service(planned, settings)
            guard let process = processes[service] else {
                throw ComparisonError("The service for \(planned.label) does not run.")
            }
            try process.resetContention()
            let lineBefore = probe.nanoseconds()
            let processorBefore = process.processorSeconds
            let seen = try load.run(
                process,
                planned.isBaseline ? nil : planned.workload,
                connections: planned.threads,
                seconds: Int(settings.durationSeconds),
                round: repeatIndex,
                isInterrupted: isInterrupted
            )
            let processorAfter = process.processorSeconds
            let lineAfter = probe.nanoseconds()
            let row = try process.contention(service.strategy)
            if seen.lost > 0 { lostCounts[planned.label, default: 0] += seen.lost }
            instrument.samplingMean = row.samplingMean
            instrument.meteringNanosecondsPerOperation = max(
                instrument.meteringNanosecondsPerOperation,
                row.overhead?.overheadNanoseconds ?? 0
            )
            var measured = ComparisonReport.Repeat(
                index: repeatIndex,
                operations: seen.operations,
                seconds: seen.seconds,
                operationsPerThread: [],
                response: seen.response
            )
            if let processorBefore, let processorAfter {
                measured.cpuSeconds = processorAfter - processorBefore
            }
            measured.refused = seen.refused
            measured.lineNanoseconds = [lineBefore, lineAfter].compactMap(\.self)
            if !planned.isBaseline {
                measured.meteredOperations = Int(row.acquisitions.all)
                measured.add(row)
            }
            return measured
        }
    }

    private func warmUp(_ process: ServiceProcess) throws(ComparisonError) {
        _ = try load.run(
            process,
            nil,
            connections: Self.warmUpConnections,
            seconds: Self.warmUpSeconds,
            round: 0,
            isInterrupted: isInterrupted
        )
    }

    /// A failure after an interrupt is treated as the interrupt.
    private func unlessInterrupted<Result>(
        _ body: () throws(ComparisonError) -> Result
    ) throws(MeasurementFailure) -> Result {
        let result: Result
        do {
            result = try body()
        } catch {
            throw isInterrupted() ? .interrupted : .failed(error)
        }
        if isInterrupted() { throw .interrupted }
        return result
    }

    /// Ends all services; they drain side by side.
    mutating func end() {
        for process in processes.values {
            process.askToEnd()
        }
        for process in processes.values {
            process.end()
        }
        processes = [:]
    }

    /// The client's errors that make figures worthless, a sentence each.
    var findings: [String] {
        lostCounts.sorted { $0.key < $1.key }.map { label, count in
            "\(count) requests or connections were lost under \(label)."
        }
    }
}

extension ComparisonSettings {
    /// The defaults over HTTP.
    package mutating func useHTTPDefaults() {
        threads = [4, 32]
        durationSeconds = 1
        haveNoWork()
    }

    /// Over HTTP an operation is a request, which has no section of its own to make longer.
    package mutating func haveNoWork() {
        sectionNanoseconds = [0]
        outside = [OutsideWork(nanoseconds: 0, scalesWithThreads: false)]
    }
}
