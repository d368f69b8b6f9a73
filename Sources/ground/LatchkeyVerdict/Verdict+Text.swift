/// A verdict in words: three lines that take ten seconds, and a list that can be skipped.
package struct VerdictText: Sendable {
    /// Line one has at most this many words.
    package static let wordCountMax = 20

    /// Line one: which strategy to use.
    package let sentence: String
    /// Line two: where the answer differs, in one clause for each condition.
    package let flip: String
    /// Line three, what must not be used here and why: a sentence, or nothing.
    package let news: [String]
    /// For each strategy that is passed over, a sentence why it is not named.
    package let passedOver: [String]
    /// How the named strategy compares with the others, a sentence each.
    package let notes: [String]

    /// - Parameters:
    ///   - verdict: what was decided.
    ///   - asked: the current strategy that was asked for.
    ///   - failures: strategies that failed a check, with a clause that says so.
    package init?(_ verdict: Verdict, asked: String, failures: [(String, clause: String)] = []) {
        guard let name = verdict.strategy, let current = verdict.current else { return nil }
        sentence = verdict.sentence(name, current, asked)
        flip = verdict.flip
        let avoided = verdict.avoided(failures)
        news = Self.news(avoided)
        passedOver = verdict.passedOver.map { other in
            let gain = verdict.gain(other.strategy, over: current)
            return "`\(other.strategy)` is passed over, with \(gain): \(other.obstacle.text)."
        }
        notes = verdict.notes(name, current, asked) + Self.rest(avoided)
    }

    // MARK: Line three

    private static let clauseCountMax = 3
    private static let clauseWordCountMax = 36

    /// Line three: the strategies that must not be used here.
    package static func news(_ all: [Verdict.Avoided]) -> [String] {
        guard !all.isEmpty else { return [] }
        let shown = fitting(all.map(\.text))
        let left = all.count - shown.count
        return [
            "Not here: " + shown.joined(separator: "; ") + (left > 0 ? "; and \(left) more." : ".")
        ]
    }

    /// The strategies for which line three has no room.
    private static func rest(_ all: [Verdict.Avoided]) -> [String] {
        let texts = all.map(\.text)
        let left = texts.dropFirst(fitting(texts).count)
        return left.isEmpty
            ? [] : ["Not to be used here either: \(left.joined(separator: "; "))."]
    }

    /// The clauses for which a line has room: one at least.
    static func fitting(_ clauses: [String]) -> ArraySlice<String> {
        var wordCount = 0
        let fitting = clauses.prefix(clauseCountMax).prefix { clause in
            wordCount += clause.wordCount
            return wordCount <= clauseWordCountMax
        }
        return clauses.prefix(max(1, fitting.count))
    }
}

extension Verdict {
    // MARK: Line one

    fileprivate func sentence(_ name: String, _ current: String, _ asked: String) -> String {
        let subject = "`\(name)`" + (copies(name) ? ", whose writers copy the value" : "")
        let short = told(name)
        if let excluded = excluded.first(where: { $0.strategy == asked }) {
            return "Use \(subject): `\(asked)` \(excluded.reason)."
        }
        let verb = isStandIn || name != current ? "Use" : "Keep"
        // Where there is no room, the least important part is left out first.
        let (gain, exception) = name == current ? ("", "") : self.gain(name)
        let texts = [subject, short].flatMap { subject in
            name == current
                ? [kept(verb, subject, current)]
                : ["Use \(subject): \(gain)\(exception)", "Use \(subject): \(gain)"]
        }
        let absence = isStandIn ? [" (`\(asked)` was not measured).", "."] : ["."]
        let all = texts.flatMap { text in absence.map { text + $0 } }
        return all.first { $0.wordCount <= VerdictText.wordCountMax } ?? all[all.count - 1]
    }

    /// Why the current strategy stays.
    private func kept(_ verb: String, _ subject: String, _ current: String) -> String {
        let keeping = "\(verb) \(subject): "
        if let first = passedOver.first {
            let kinds = passedOver.map(\.obstacle.kind)
            let kind = kinds.allSatisfy { $0 == kinds[0] } ? kinds[0] : nil
            return keeping + reason(kind, passedOver.count, first.strategy)
        }
        let open = ranked.filter { $0 != current && bar($0, in: places) == nil }
            .compactMap { name in ratio(name, to: current).map { (name: name, ratio: $0) } }
        let possible = open.filter { $0.ratio.high >= Self.gainMin }
        if let most = possible.max(by: { $0.ratio.value < $1.ratio.value }) {
            // Only where the interval itself holds both.
            if most.ratio.low <= Self.lossMin {
                return "Cannot tell `\(most.name)` from `\(current)`: \(verb.lowercased()) "
                    + subject
            }
            return most.ratio.value >= Self.gainMin
                ? keeping + "`\(most.name)` does \(table.figure.gain(most.ratio.value))\(average), "
                    + "but not surely \(Self.least)"
                : keeping + "no other is surely better by \(Self.least)\(average)"
        }
        let others = ranked.filter { $0 != current }
        if let next = others.first, let ratio = ratio(current, to: next),
            others.allSatisfy({ isBetter(current, than: $0) })
        {
            return keeping + table.figure.gain(ratio.value, over: next) + average
                + ", the next best"
        }
        return keeping + "no other is better by \(Self.least)\(average)"
    }

    private static let least = FigureText.percent(gainMin - 1)

    /// A mean is called a mean.
    private var average: String { places.count > 1 ? " on average" : "" }

    private func reason(_ kind: Obstacle.Kind?, _ count: Int, _ name: String) -> String {
        let isOne = count == 1
        let reason =
            switch kind {
            case .copies: "\(isOne ? "its" : "their") writers copy"
            case .slower: "not in every case"
            case .limit: isOne ? "it breaks a limit" : "each breaks a limit"
            case nil: "each has a fault"
            }
        return "\(isOne ? "`\(name)` is" : "\(count) others are") faster\(average), but \(reason)"
    }

    /// A mean of greater differences than this is useless to a reader.
    private static let gainSpreadMax = 3.0
    /// A case with less than this part of the mean is named beside it.
    private static let leastShareMin = 0.75

    /// `53 % more than `lock` on average over 2 to 8 threads; 18 % on 8`: the cases that have the
    /// gain, and the least of them.
    private func gain(_ name: String) -> (text: String, exception: String) {
        guard let current, let sweep = table.sweeps.first else { return ("", "") }
        func value(_ places: [Int]) -> Double { ratio(name, to: current, in: places)?.value ?? 1 }
        func text(_ places: [Int]) -> String { table.figure.gain(value(places), over: current) }
        guard places.count > 1 else { return (text(sweep) + " " + self.text(sweep[0]), "") }
        guard table.sweeps.count == 1 else {
            let cases = FigureText.counted(places.count, "case")
            return ("\(text(places)) on average over \(cases)", "")
        }
        let values = sweep.map { value([$0]) }
        let least = max(Self.gainMin, (values.max() ?? 1) / Self.gainSpreadMax)
        let first = values.firstIndex { $0 >= least } ?? 0
        let isPart = values[first...].allSatisfy { $0 >= least }
        let part = Array(isPart ? sweep[first...] : sweep[...])
        guard part.count > 1 else { return (text(part) + " " + self.text(part[0]), "") }
        let lowest = part.min { value([$0]) < value([$1]) } ?? part[0]
        let own = value([lowest])
        let isFar = own - 1 < Self.leastShareMin * (value(part) - 1)
        let exception =
            isFar && own >= 1
            ? "; \(table.figure.amount(own)) on \(table.places[lowest].threads)"
            : own < 1 ? "; none on \(table.places[lowest].threads)" : ""
        return (text(part) + " on average over " + range(part), exception)
    }

    // MARK: Line two

    fileprivate var flip: String {
        let flips = sortedFlips
        guard !flips.isEmpty else { return unflipped }
        let clauses = flips.map(clause)
        let shown = VerdictText.fitting(clauses)
        let left = flips.count - shown.count
        return "Except: " + shown.joined(separator: "; ")
            + (left > 0 ? "; and under \(FigureText.counted(left, "more condition"))." : ".")
    }

    private var sortedFlips: [Flip] { flips.sorted { $0.gain > $1.gain } }

    /// The strategies that line two names.
    package var flipping: [String] {
        let flips = sortedFlips
        return flips.prefix(VerdictText.fitting(flips.map(clause)).count).map(\.strategy)
    }

    private func clause(_ flip: Flip) -> String {
        "\(told(flip.strategy)) \(text(flip.places)): \(table.figure.gain(flip.gain))"
            + (flip.places.count > 1 ? " on average" : "")
    }

    /// That nothing flips.
    private var unflipped: String {
        guard places.count > 1, let strategy else { return "Only one case was measured." }
        let isBeaten = ranked.contains { name in
            places.contains { isBetter(name, than: strategy, in: [$0]) }
        }
        return "No other \(isBeaten ? "that may be used " : "")is surely better by \(Self.least) "
            + (places.count == 2 ? "in either case." : "in any of the \(places.count) cases.")
    }

    /// The name, and that its writers copy.
    package func told(_ name: String) -> String {
        "`\(name)`" + (copies(name) ? " (writers copy)" : "")
    }

    // MARK: Line three

    /// A strategy that must not be used here, and a clause about it without its subject.
    package struct Avoided: Sendable {
        package var strategy: String
        package var clause: String

        var text: String { "`\(strategy)` \(clause)" }
    }

    /// Strategies with wrong results come first, then those that collapse, the deepest fall first,
    /// then slow ones, then those that break a limit.
    package func avoided(_ failures: [(String, clause: String)]) -> [Avoided] {
        let limits = ranked.compactMap { name in
            breach(name, in: places).map { Avoided(strategy: name, clause: $0) }
        }
        let failed = failures.map { Avoided(strategy: $0.0, clause: $0.clause) }
        var seen: Set<String> = []
        return (failed + collapsing + slow + limits).filter { seen.insert($0.strategy).inserted }
    }

    /// A fall that all strategies have is no reason against one.
    private var collapsing: [Avoided] {
        let cliffs = cliffs.filter { cliff in
            ranked.count < 2
                || strategy.map { isFarAhead($0, of: cliff.strategy, in: [cliff.to]) } ?? false
        }
        return cliffs.map { cliff in
            let (from, to) = (table.places[cliff.from], table.places[cliff.to])
            // The deepest fall of a strategy is the first one, and only that one is reported.
            let falls = cliffs.filter {
                $0.strategy == cliff.strategy && table.places[$0.from].threads == from.threads
                    && table.places[$0.to].threads == to.threads
            }
            let isEverywhere =
                falls.count == table.places.count(where: { $0.threads == to.threads })
            let place = isEverywhere || to.condition.isEmpty ? "" : " " + to.condition
            let most = isEverywhere && falls.contains { $0.ratio < cliff.ratio } ? "up to " : ""
            return Avoided(
                strategy: cliff.strategy,
                clause: "collapses above \(FigureText.counted(from.threads, from.unit))\(place): "
                    + "\(most)\(FigureText.count(cliff.ratio)) times slower"
            )
        }
    }

    /// The strategies that are slower than the named one by at least the depth of a cliff, the
    /// slowest first.
    private var slow: [Avoided] {
        guard let strategy else { return [] }
        let found = ranked.compactMap { name -> (String, Int, Double)? in
            let far = places.filter { isFarAhead(strategy, of: name, in: [$0]) }
                .map { ($0, ratio(strategy, to: name, in: [$0])?.value ?? 1) }
            return far.max { $0.1 < $1.1 }.map { (name, $0.0, $0.1) }
        }
        return found.sorted { $0.2 > $1.2 }.map { name, place, ratio in
            let loss = table.figure.loss(ratio, than: strategy)
            return Avoided(strategy: name, clause: "is \(loss) \(text(place))")
        }
    }

    // MARK: The list

    /// The strategies within 10 % of the named one that could replace it.
    ///
    /// That is of the figures in the table. The truth can be farther away.
    package var asGood: [String] {
        guard let strategy else { return [] }
        return ranked.filter { name in
            guard name != strategy, let ratio = ratio(name, to: strategy)?.value else {
                return false
            }
            return max(ratio, 1 / ratio) < Self.gainMin && obstacle(name) == nil
                && !isFarAhead(strategy, of: name, in: places)
        }
    }

    fileprivate func notes(_ name: String, _ current: String, _ asked: String) -> [String] {
        var notes: [String] = []
        if isStandIn { notes.append("`\(asked)` is not ranked: `\(current)` stands in for it.") }
        if current != name { notes.append("`\(name)`: \(gain(name, over: current)).") }
        if !asGood.isEmpty {
            notes.append("Within 10 % of `\(name)`\(average): \(FigureText.names(asGood)).")
        }
        let told = passedOver.map(\.strategy)
        notes += ranked.compactMap { other in
            guard other != name, !told.contains(other), let ratio = ratio(other, to: name),
                ratio.value >= Self.gainMin
            else { return nil }
            let reason = obstacle(other).map { ", but \($0.text)" } ?? ""
            return (isBetter(ratio) ? "Better" : "Perhaps better")
                + ": `\(other)`: \(gain(other, over: name))\(reason)."
        }
        if let sensitivity, sensitivity.isFinite, sensitivity >= 0.001 {
            notes.append(
                "Between strategies that are about as fast, this run distinguishes differences of "
                    + "\(FigureText.percent(sensitivity))\(average)."
            )
        }
        return notes
    }

    /// `39 % more than `lock` on average over all cases (34 to 43 %)`; without the interval where
    /// it does not agree about the direction.
    fileprivate func gain(_ name: String, over other: String) -> String {
        guard let ratio = ratio(name, to: other) else { return "" }
        let gain = table.figure.gain(ratio.value, over: other)
        let place = places.count > 1 ? " on average over all cases" : ""
        guard ratio.low > 1, ratio.high.isFinite else {
            return gain + place + ", which can be chance"
        }
        return "\(gain)\(place) (95 % interval: \(amounts(ratio)))"
    }

    /// `20 to 33 %`, `2.10 to 3.40 times`, `80 % to 2.10 times`.
    private func amounts(_ ratio: Ratio) -> String {
        let ends = [ratio.low, ratio.high].map(table.figure.amount)
        let units = ends.map { $0.split(separator: " ").last ?? "" }
        guard ends[0] != ends[1] else { return ends[0] }
        guard units[0] == units[1] else { return ends.joined(separator: " to ") }
        return ends[0].dropLast(units[0].count + 1) + " to " + ends[1]
    }

    /// The difference, over all cases, at which a strategy can be told from the named one: in half
    /// of those that are within a factor of two.
    package var sensitivity: Double? {
        guard let strategy else { return nil }
        let widths = ranked.filter { $0 != strategy }.compactMap { ratio($0, to: strategy) }
            .filter { max($0.value, 1 / $0.value) < 2 }
            .map { ($0.high / $0.low).squareRoot() - 1 }.sorted()
        return widths.isEmpty ? nil : widths[widths.count / 2]
    }

    // MARK: Places

    /// `on 4 threads`, or `with 95 % reads on 4 threads`.
    package func text(_ place: Int) -> String { text([place]) }

    /// Neighbours of one sweep: `on 2 to 8 threads`; without the threads, if these are all of the
    /// run.
    private func text(_ places: [Int]) -> String {
        let place = table.places[places[0]]
        let threads = (place.unit == "thread" ? "on " : "over ") + range(places)
        guard !place.condition.isEmpty else { return threads }
        let counts = Set(table.places.map(\.threads))
        return Set(places.map { table.places[$0].threads }) == counts
            ? place.condition : "\(place.condition) \(threads)"
    }

    private func range(_ places: [Int]) -> String {
        let counts = places.map { table.places[$0].threads }
        let (least, most) = (counts.min() ?? 1, counts.max() ?? 1)
        return (least == most ? "" : "\(least) to ")
            + FigureText.counted(most, table.places[places[0]].unit)
    }
}

extension String {
    /// The number of words of a text for people.
    package var wordCount: Int { split(separator: " ").count }
}
