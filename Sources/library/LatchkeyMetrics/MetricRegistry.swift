import Foundation

/// Everything that a scrape shows, in the order of registration.
///
/// Series are made at start and used through their handles, so that no name or label is looked up
/// where something is counted. A mistake in a name, a name used twice or a series made twice stops
/// the program: names are its constants.
///
/// **Design.** `contents` is guarded by `lock`, which registering and the beginning of a scrape
/// take; the handles never do. A scrape copies the list, releases the lock and then reads the
/// handles and calls the collectors, so that a collector may be slow. The counters and histograms
/// of a registry share blocks of per-thread words: a thread has a few blocks, not a cache line for
/// each series.
package final class MetricRegistry: Sendable {
    fileprivate typealias Writing = @Sendable (inout ExpositionWriter) -> Void

    fileprivate enum Registration {
        case series(MetricFamily, [(labels: Labels, write: Writing)])
        case collector(Writing)
    }

    fileprivate struct Contents {
        var registrations: [Registration] = []
        var registrationOfFamily: [MetricFamily: Int] = [:]
        var claimedNames: Set<String> = []
        var block: PerThreadCounters?
        var blockUsed = 0
    }

    private let lock = NSLock()
    // SAFETY: used by `withContents` only, which holds the lock.
    nonisolated(unsafe) private var contents = Contents()

    package init() {}

    /// Runs `body` alone.
    ///
    /// It must not call this again.
    private func withContents<Result>(_ body: (inout Contents) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return unsafe body(&contents)
    }

    /// Makes a counter, which starts at zero.
    ///
    /// Unless `fromStart`, a scrape has it from its first value on, and an `increase()` of
    /// Prometheus misses that value.
    package func counter(
        _ family: MetricFamily,
        _ labels: Labels = .none,
        fromStart: Bool = true
    ) -> Counter {
        precondition(family.kind == .counter, "The family is not one of counters.")
        return withContents { contents in
            let (words, offset) = contents.takeWords(1)
            let counter = Counter(words: words, offset: offset)
            contents.add(family, labels) { writer in
                let value = counter.value
                if fromStart || value > 0 { writer.sample(labels, value) }
            }
            return counter
        }
    }

    /// Makes a gauge, which starts at zero.
    package func gauge(_ family: MetricFamily, _ labels: Labels = .none) -> Gauge {
        precondition(family.kind == .gauge, "The family is not one of gauges.")
        return withContents { contents in
            let gauge = Gauge()
            contents.add(family, labels) { $0.sample(labels, Double(gauge.value)) }
            return gauge
        }
    }

    /// Makes a histogram, which starts empty.
    ///
    /// Unless `fromStart`, a scrape has its series from the first value on.
    package func histogram(
        _ family: MetricFamily,
        _ labels: Labels = .none,
        bounds: HistogramBounds,
        fromStart: Bool = true
    ) -> Histogram {
        precondition(family.kind == .histogram, "The family is not one of histograms.")
        return withContents { contents in
            let (words, offset) = contents.takeWords(Histogram.wordCount(bounds))
            let histogram = Histogram(bounds: bounds, words: words, offset: offset)
            contents.add(family, labels) { writer in
                let reading = histogram.reading
                if fromStart || !reading.isEmpty { writer.histogram(labels, bounds, reading) }
            }
            return histogram
        }
    }

    /// Registers families whose samples are computed at each scrape.
    ///
    /// - Parameters:
    ///   - families: what `collect` writes; their names are taken from now on.
    ///   - collect: begins each family once and writes its samples. Called by every scrape, maybe
    ///     by several at once, with no lock held.
    package func collect(
        _ families: [MetricFamily],
        _ collect: @escaping @Sendable (inout ExpositionWriter) -> Void
    ) {
        withContents { contents in
            for family in families {
                contents.claim(family)
            }
            contents.registrations.append(.collector(collect))
        }
    }

    /// The text of a scrape.
    package func text(_ format: ExpositionFormat) -> [UInt8] {
        let registrations = withContents { $0.registrations }
        var writer = ExpositionWriter(format: format)
        for registration in registrations {
            switch registration {
            case .collector(let collect):
                collect(&writer)
            case .series(let family, let series):
                writer.begin(family)
                for series in series {
                    series.write(&writer)
                }
            }
        }
        return writer.finish()
    }
}

extension MetricRegistry.Contents {
    /// One page for each thread and block.
    private static let blockWordCount = 512

    fileprivate mutating func takeWords(_ count: Int) -> (PerThreadCounters, Int) {
        if let block, blockUsed + count <= block.wordCount {
            defer { blockUsed += count }
            return (block, blockUsed)
        }
        let block = PerThreadCounters(wordCount: max(count, Self.blockWordCount))
        self.block = block
        blockUsed = count
        return (block, 0)
    }

    fileprivate mutating func add(
        _ family: MetricFamily,
        _ labels: Labels,
        _ write: @escaping MetricRegistry.Writing
    ) {
        guard let index = registrationOfFamily[family] else {
            claim(family)
            registrationOfFamily[family] = registrations.count
            registrations.append(.series(family, [(labels, write)]))
            return
        }
        guard case .series(_, var series) = registrations[index] else { return }
        precondition(!series.contains { $0.labels == labels }, "The series exists already.")
        series.append((labels, write))
        registrations[index] = .series(family, series)
    }

    fileprivate mutating func claim(_ family: MetricFamily) {
        for name in family.claimedNames {
            precondition(claimedNames.insert(name).inserted, "A metric of that name exists.")
        }
    }
}
