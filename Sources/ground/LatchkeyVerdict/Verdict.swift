internal import Foundation

/// Which strategy to use: one rule, on the ratios of figures that were measured next to each other.
///
/// **The rule.** A strategy replaces the current one if the ``Ratio`` of the two
/// - begins at 1.10 or above over all cases,
/// - and ends below 0.90 in no case. A collapse outweighs this: a case in which the current
///   strategy is surely three times as slow;
/// and if that strategy keeps the ``Limits``, and copies only where reads dominate. Of several,
/// those that another one of them would replace are dropped. The first of the rest by
/// ``Preference`` is named, so that traits decide between equals, and not noise.
///
/// Noise only makes the intervals wider. A verdict is not weakened again because the machine was
/// busy.
///
/// **No current strategy.** If it was not measured, or cannot be ranked, the most preferred one
/// stands in for it; one that collapses, or copies where writes are frequent, only if all do.
package struct Verdict: Sendable {
    /// The least ratio that counts as better.
    package static let gainMin = 1.1
    /// A ratio that is not surely below this is no loss.
    package static let lossMin = 0.9
    /// The factor by which a strategy that collapses is slower.
    package static let collapseMin = 3.0
    /// Room for the rounding of equal figures.
    private static let rounding = 1e-9

    /// A strategy that is surely better on average, but is not named.
    package struct PassedOver: Sendable {
        package var strategy: String
        /// To the current one, over all cases.
        package var ratio: Ratio
        package var obstacle: Obstacle
    }

    /// Why a strategy does not replace the current one.
    package struct Obstacle: Sendable, Equatable {
        package enum Kind: Sendable { case copies, limit, slower }

        package var kind: Kind
        /// A clause without its subject, or with another one.
        package var text: String
    }

    package let table: VerdictTable
    /// The strategies that can be ranked, the fastest first: by the geometric mean over all cases.
    package let ranked: [String]
    /// The others, with the reason.
    package let excluded: [(strategy: String, reason: String)]
    /// The strategy that stays unless another is better; nil if nothing is ranked.
    package private(set) var current: String?
    /// Whether `current` is not the one that was asked for.
    package let isStandIn: Bool
    /// Which one to use.
    package private(set) var strategy: String?
    package private(set) var passedOver: [PassedOver] = []

    private let preferences: [String: Preference]
    /// By place, then by both names.
    private let pairings: [[String: [String: Ratio.Pairing]]]

    package init(_ table: VerdictTable, current asked: String) {
        self.table = table
        let places = table.places.indices
        func isWhole(_ name: String) -> Bool {
            !places.isEmpty && places.allSatisfy { table.figures[name]?[$0] != nil }
        }
        let whole = table.strategies.filter { $0.exclusion == nil && isWhole($0.name) }.map(\.name)
        let speeds = whole.map { name in
            (table.figures[name] ?? []).reduce(0) { $0 + log($1?.speed ?? 0) }
        }
        ranked = zip(whole, speeds).enumerated().sorted {
            ($1.element.1, $0.offset) < ($0.element.1, $1.offset)
        }.map(\.element.0)
        excluded = table.strategies.filter { !whole.contains($0.name) }.map {
            ($0.name, $0.exclusion ?? "was not measured in every case")
        }
        preferences = Dictionary(
            table.strategies.map { ($0.name, $0.preference) },
            uniquingKeysWith: { first, _ in first }
        )
        pairings = places.map { place in Self.pairings(table, place) }
        isStandIn = !ranked.contains(asked)
        current = isStandIn ? nil : asked
        current = current ?? standIn()
        guard let current else { return }
        strategy = better(than: current, in: Array(places)) ?? current
        passedOver = ranked.compactMap { name in
            guard name != current, let ratio = ratio(name, to: current), isBetter(ratio),
                let obstacle = obstacle(name)
            else { return nil }
            return PassedOver(strategy: name, ratio: ratio, obstacle: obstacle)
        }
    }

    private static func pairings(
        _ table: VerdictTable,
        _ place: Int
    ) -> [String: [String: Ratio.Pairing]] {
        let names = table.strategies.filter {
            $0.exclusion == nil && table.figures[$0.name]?[place] != nil
        }.map(\.name)
        var found: [String: [String: Ratio.Pairing]] = [:]
        for (index, one) in names.enumerated() {
            for other in names[(index + 1)...] {
                guard let own = table.figures[one]?[place],
                    let theirs = table.figures[other]?[place]
                else { continue }
                let pairing = Ratio.Pairing(own, theirs)
                found[one, default: [:]][other] = pairing
                found[other, default: [:]][one] = pairing.inverse
            }
        }
        return found
    }

    private func standIn() -> String? {
        let preferred = sorted(ranked)
        let steady = preferred.filter { name in !cliffs.contains { $0.strategy == name } }
        return steady.first { !copiesTooMuch($0, places) } ?? steady.first ?? preferred.first
    }

    // MARK: Knowledge

    var places: [Int] { Array(table.places.indices) }

    /// The ratio of one strategy to another over these cases, or over all.
    package func ratio(_ one: String, to other: String, in places: [Int]? = nil) -> Ratio? {
        let places = places ?? self.places
        let found = places.compactMap { pairings[$0][one]?[other] }
        return found.isEmpty || found.count < places.count ? nil : Ratio(over: found)
    }

    package func isBetter(_ ratio: Ratio) -> Bool { ratio.low >= Self.gainMin - Self.rounding }

    /// Whether one strategy is surely better than the other in these cases, or in all.
    package func isBetter(_ one: String, than other: String, in places: [Int]? = nil) -> Bool {
        ratio(one, to: other, in: places).map(isBetter) ?? false
    }

    /// Whether one strategy is so far ahead somewhere that the other is not to be used there.
    func isFarAhead(_ one: String, of other: String, in places: [Int]) -> Bool {
        places.contains { place in
            ratio(one, to: other, in: [place]).map { $0.low >= Self.collapseMin } ?? false
        }
    }

    /// The strategies that look better than the current one, but not surely, where a narrower
    /// interval could decide.
    package var undecided: [String] {
        ranked.filter { name in
            guard let current, name != current, !isBarred(name),
                let ratio = ratio(name, to: current)
            else { return false }
            return ratio.value >= Self.gainMin && !isBetter(ratio)
        }
    }

    /// Whether no other strategy is surely better in this case.
    package func isBest(_ name: String, in place: Int) -> Bool {
        (pairings[place][name] ?? [:]).keys.allSatisfy {
            !isBetter($0, than: name, in: [place])
        }
    }

    func sorted(_ names: [String]) -> [String] {
        names.sorted {
            guard let one = preferences[$0], let other = preferences[$1] else { return false }
            return one < other
        }
    }

    // MARK: The rule

    /// Whether the first one replaces the other in these cases.
    private func replaces(_ one: String, _ other: String, in places: [Int]) -> Bool {
        isBetter(one, than: other, in: places) && loss(one, beside: other, in: places) == nil
    }

    /// The case in which the first one is surely slower than the other, by the most.
    private func loss(_ one: String, beside other: String, in places: [Int]) -> Int? {
        guard !isFarAhead(one, of: other, in: places) else { return nil }
        let losses = places.compactMap { place in
            ratio(one, to: other, in: [place]).map { (place: place, ratio: $0) }
        }.filter { $0.ratio.high < Self.lossMin }
        return losses.min { $0.ratio.value < $1.ratio.value }?.place
    }

    /// The strategy to use in these cases instead of another one, if any.
    func better(than name: String, in places: [Int]) -> String? {
        let able = ranked.filter {
            $0 != name && replaces($0, name, in: places) && bar($0, in: places) == nil
        }
        let unbeaten = able.filter { one in !able.contains { replaces($0, one, in: places) } }
        return sorted(unbeaten).first ?? able.first
    }

    /// Why a strategy could not be named, however fast it is; nil if it could.
    package func obstacle(_ name: String) -> Obstacle? {
        guard let current, name != current else { return nil }
        if let bar = bar(name, in: places) { return bar }
        guard let place = loss(name, beside: current, in: places),
            let ratio = ratio(current, to: name, in: [place])
        else { return nil }
        let gain = table.figure.gain(ratio.value)
        return Obstacle(kind: .slower, text: "`\(current)` is better \(text(place)) (\(gain))")
    }

    /// The obstacle to a strategy in these cases, whatever its speed.
    func bar(_ name: String, in places: [Int]) -> Obstacle? {
        guard name != current else { return nil }
        if copiesTooMuch(name, places) {
            let least = FigureText.percent(Limits.readRatioMin)
            return Obstacle(
                kind: .copies,
                text: "its writers copy the value, and fewer than \(least) of the operations are "
                    + "reads"
            )
        }
        return breach(name, in: places).map { Obstacle(kind: .limit, text: "it \($0)") }
    }

    /// Whether a strategy must not be used here, whatever its speed.
    package func isBarred(_ name: String) -> Bool { bar(name, in: places) != nil }

    func copies(_ name: String) -> Bool { preferences[name]?.copiesOnWrite ?? false }

    func copiesTooMuch(_ name: String, _ places: [Int]) -> Bool {
        copies(name) && places.contains { table.readRatios[$0] < Limits.readRatioMin }
    }

    /// The first limit that a strategy breaks in these cases, with the place.
    func breach(_ name: String, in places: [Int]) -> String? {
        guard let current, name != current else { return nil }
        return places.lazy.compactMap { place -> String? in
            guard let own = table.figures[name]?[place]?.limits,
                let usual = table.figures[current]?[place]?.limits
            else { return nil }
            return own.breach(of: usual, current).map { "\($0) \(text(place))" }
        }.first
    }
}
