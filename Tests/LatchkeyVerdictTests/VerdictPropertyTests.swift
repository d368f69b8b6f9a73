import Foundation
import LatchkeyTestSupport
import Testing

@testable import LatchkeyVerdict

/// Properties of every table, tested on random ones.
@Suite(.timeLimit(.minutes(15)))
struct VerdictPropertyTests {
    private static let names = ["lock", "semaphore", "adaptive", "spin", "snapshot", "queue"]

    /// Six strategies on three numbers of threads: far apart or near, quiet or noisy, some with a
    /// collapse, a disturbed repeat, a limit that is broken, or no rounds.
    private static func table(_ seed: UInt64) -> VerdictTable {
        var draw = Draw(seed)
        let spread = [0.02, 0.1, 0.4, 1.5][Int(draw.next() % 4)]
        let noise = [0.001, 0.02, 0.1, 0.5][Int(draw.next() % 4)]
        let count = [3, 5, 10][Int(draw.next() % 3)]
        let threads = [1, 2, 8]
        let shared = (0..<count).map { _ in 0.3 * draw.normal() }
        var figures: [String: [VerdictTable.Figures?]] = [:]
        for name in names {
            let hasRounds = draw.unit() < 0.7
            figures[name] = threads.map { threads in
                let falls = threads == 8 && draw.unit() < 0.1
                let speed = 1e6 * exp(spread * draw.normal()) / (falls ? 50 : 1)
                var rates = shared.map { speed * exp($0 + noise * draw.normal()) }
                if draw.unit() < 0.1 { rates[0] *= 0.2 }
                var found = VerdictTable.Figures.repeats(rates)
                if hasRounds {
                    found.rounds = Dictionary(
                        uniqueKeysWithValues: rates.indices.map { index in
                            (index, (0..<9).map { _ in rates[index] * exp(noise * draw.normal()) })
                        }
                    )
                    // As in a report: where there are rounds, the table has their median.
                    let slices = found.rounds.values.flatMap(\.self).compactMap(\.self).sorted()
                    found.speed = slices[slices.count / 2]
                }
                if draw.unit() < 0.05 { found.limits.leastShare = 0.1 }
                return found
            }
        }
        return VerdictTable(
            figure: seed % 5 == 0 ? .responseP99 : .throughput,
            places: threads.map { .init(threads: $0, workload: 0) },
            readRatios: threads.map { _ in seed % 2 == 0 ? 0.5 : 0.95 },
            strategies: names.enumerated().map { order, name in
                .init(
                    name,
                    Preference(
                        comesWithPlatform: order < 2,
                        spins: name == "adaptive" || name == "spin",
                        keepsPolling: name == "spin",
                        copiesOnWrite: name == "snapshot",
                        order: order
                    )
                )
            },
            figures: figures
        )
    }

    private static let all = (0..<Depth.count(200, deep: 3_000)).flatMap { seed in
        let table = table(UInt64(seed))
        return ["lock", "spin", "nothing"].map { current in
            let verdict = Verdict(table, current: current)
            return (verdict, VerdictText(verdict, asked: current))
        }
    }

    private static func verdicts(
        _ check: (Verdict, VerdictText, String, String) throws -> Void
    ) throws {
        for (verdict, text) in all {
            try check(
                verdict,
                #require(text),
                #require(verdict.strategy),
                #require(verdict.current)
            )
        }
    }

    @Test func `the verdict is never beaten by its own table`() throws {
        var (changed, kept, barred) = (0, 0, 0)
        try Self.verdicts { verdict, text, name, current in
            if name == current { kept += 1 } else { changed += 1 }
            for other in verdict.ranked where other != name {
                let ratio = try #require(verdict.ratio(other, to: name))
                guard ratio.low >= 1.1 else { continue }
                // Then it may not be used, and this is said.
                barred += 1
                let told = (text.passedOver + text.notes + text.news).joined(separator: " ")
                #expect(told.contains("`\(other)`"), "\(text)")
                let isWorseSomewhere = verdict.places.contains {
                    (verdict.ratio(other, to: name, in: [$0])?.high ?? 1) < 0.9
                }
                #expect(verdict.obstacle(other) != nil || isWorseSomewhere, "\(other): \(text)")
                #expect(!text.sentence.contains("no other is"), "\(text)")
                #expect(!text.sentence.hasPrefix("Cannot tell"), "\(text)")
            }
            if name != current {
                let ratio = try #require(verdict.ratio(name, to: current))
                #expect(ratio.low >= 1.1 - 1e-9, "\(text)")
                let ratios = verdict.places.compactMap {
                    verdict.ratio(name, to: current, in: [$0])
                }
                let isOutweighed = ratios.contains { $0.low >= 3 }
                #expect(isOutweighed || ratios.allSatisfy { $0.high >= 0.9 }, "\(text)")
                #expect(!verdict.isBarred(name), "\(text)")
            }
        }
        #expect(changed >= 50 && kept >= 50 && barred >= 50, "\(changed) \(kept) \(barred)")
    }

    @Test func `it cannot tell only where the interval itself holds both`() throws {
        var count = 0
        try Self.verdicts { verdict, text, _, _ in
            guard let match = text.sentence.firstMatch(of: /^Cannot tell `([^`]+)` from `([^`]+)`/)
            else { return }
            count += 1
            let ratio = try #require(verdict.ratio(String(match.1), to: String(match.2)))
            #expect(ratio.low <= 0.9 && ratio.high >= 1.1, "\(ratio): \(text.sentence)")
        }
        #expect(count >= 20, "\(count)")
    }

    @Test func `line one has at most 20 words, and figures that stand in the table`() throws {
        var (count, outsideCount) = (0, 0)
        try Self.verdicts { verdict, text, name, current in
            #expect(text.sentence.wordCount <= VerdictText.wordCountMax, "\(text.sentence)")
            let hasMean =
                text.sentence.contains(" more") || text.sentence.contains(" times as")
                || text.sentence.contains(" shorter")
            // One number of threads has no mean.
            let isOne = text.sentence.contains(/on \d+ threads?[ .(]/)
            if hasMean, !isOne { #expect(text.sentence.contains("average"), "\(text.sentence)") }
            guard name != current, let range = text.sentence.firstMatch(of: /(\d+) to (\d+) thr/),
                let gain = text.sentence.firstMatch(of: /: ([\d.]+) % (more|shorter)/),
                let amount = Double(gain.1)
            else { return }
            count += 1
            let threads = try #require(Int(range.1))...(try #require(Int(range.2)))
            let figures = verdict.table.figures
            let gains = try verdict.places.filter {
                threads.contains(verdict.table.places[$0].threads)
            }.map { place in
                // As a reader finds it in the table.
                let own = try #require(figures[name]?[place]?.speed)
                let ratio = own / (try #require(figures[current]?[place]?.speed))
                return 100 * (gain.2 == "more" ? ratio - 1 : 1 - 1 / ratio)
            }
            let (least, most) = (gains.min() ?? 0, gains.max() ?? 0)
            if least - 1 <= amount && amount <= most + 1 { return }
            // Where much noise puts the table's mean outside of the interval, its end is named.
            outsideCount += 1
            let places = verdict.places.filter {
                threads.contains(verdict.table.places[$0].threads)
            }
            let mean = try #require(verdict.ratio(name, to: current, in: places))
            #expect(mean.value == mean.low || mean.value == mean.high, "\(text.sentence)")
        }
        #expect(count >= 20, "\(count)")
        #expect(50 * outsideCount <= count, "\(outsideCount) of \(count)")
    }

    @Test func `no sentence is at odds with itself`() throws {
        try Self.verdicts { _, text, _, _ in
            let all = [text.sentence, text.flip] + text.news + text.passedOver + text.notes
            for sentence in all {
                #expect(!sentence.contains("factor of"), "\(sentence)")
                #expect(!sentence.contains("no difference"), "\(sentence)")
                #expect(!sentence.contains(/[+−-]\d/), "\(sentence)")
                #expect(!sentence.contains("inf") && !sentence.contains("nan"), "\(sentence)")
                // An interval has its figure between its ends.
                for match in sentence.matches(
                    of: /([\d.]+) % (?:more|shorter)[^(;]*\(95 % interval: ([\d.]+) to ([\d.]+) %\)/
                ) {
                    let figures = [match.2, match.1, match.3].compactMap { Double($0) }
                    #expect(figures == figures.sorted(), "\(sentence)")
                }
            }
        }
    }

    @Test func `each clause of line two names a strategy that is surely better there`() throws {
        var count = 0
        try Self.verdicts { verdict, text, name, _ in
            for clause in text.flip.matches(of: /`([^`]+)`[^:;]* on (?:(\d+) to )?(\d+) threads?:/)
            {
                count += 1
                let most = try #require(Int(clause.3))
                let least = clause.2.flatMap { Int($0) } ?? most
                for place in verdict.places
                where (least...most).contains(verdict.table.places[place].threads) {
                    #expect(verdict.isBetter(String(clause.1), than: name, in: [place]))
                }
            }
        }
        #expect(count >= 20, "\(count)")
    }

    @Test func `a table and its mirror image agree`() {
        for (verdict, _) in Self.all where verdict.current == "lock" {
            for one in verdict.ranked {
                for other in verdict.ranked where one != other {
                    #expect(
                        !(verdict.isBetter(one, than: other) && verdict.isBetter(other, than: one))
                    )
                }
            }
        }
    }
}
