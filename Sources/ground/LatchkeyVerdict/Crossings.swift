// Where the order changes, and where a strategy collapses, along the measured cases.

extension Verdict {
    /// One strategy is surely better in one of two neighbouring cases, and the other in the next.
    package struct Crossing: Sendable, Equatable {
        package var from: Int
        package var to: Int
        package var fasterBelow: String
        package var fasterAbove: String
    }

    /// A fall between two neighbouring numbers of threads.
    package struct Cliff: Sendable, Equatable {
        package var strategy: String
        package var from: Int
        package var to: Int
        package var fromSpeed: Double
        package var toSpeed: Double

        package var ratio: Double { fromSpeed / toSpeed }
    }

    /// Neighbouring cases in which to use another strategy than the named one.
    struct Flip {
        var places: [Int]
        var strategy: String
        var gain: Double
    }

    /// The crossings between neighbours of these cases, which are in the order of an axis.
    package func crossings(along places: [Int]) -> [Crossing] {
        zip(places, places.dropFirst()).flatMap { from, to in
            let names = table.strategies.map(\.name)
            return names.flatMap { below in
                names.filter { above in
                    isBetter(below, than: above, in: [from])
                        && isBetter(above, than: below, in: [to])
                }.map { Crossing(from: from, to: to, fasterBelow: below, fasterAbove: $0) }
            }
        }
    }

    /// The cliffs, the deepest first: the throughput falls by more than a factor of 3 between two
    /// neighbouring numbers of threads.
    ///
    /// Short slices hide a convoy, so that a fall from rounds to repeats can look greater than it
    /// is. It is reported as at most that of the repeats, and at most that in the table.
    package var cliffs: [Cliff] {
        guard table.figure == .throughput else { return [] }
        let found = table.sweeps.flatMap { sweep in
            zip(sweep, sweep.dropFirst()).flatMap { from, to in
                table.strategies.filter { $0.exclusion == nil }
                    .compactMap { cliff($0.name, from: from, to: to) }
            }
        }
        return found.sorted { $0.ratio > $1.ratio }
    }

    private func cliff(_ name: String, from: Int, to: Int) -> Cliff? {
        guard let before = table.figures[name]?[from], let after = table.figures[name]?[to] else {
            return nil
        }
        var (long, short) = (before, after)
        (long.rounds, short.rounds) = ([:], [:])
        let fall = Cliff(
            strategy: name,
            from: from,
            to: to,
            fromSpeed: min(before.speed, before.repeatsSpeed),
            toSpeed: max(after.speed, after.repeatsSpeed)
        )
        return fall.ratio > Self.collapseMin && Ratio(long, short).low > 1 ? fall : nil
    }

    /// The cases in which to use another strategy than the named one, in their order.
    var flips: [Flip] {
        guard let strategy, places.count > 1 else { return [] }
        var found: [Flip] = []
        for sweep in table.sweeps {
            var last: String?
            for place in sweep {
                let other = better(than: strategy, in: [place])
                if let other, other == last {
                    found[found.count - 1].places.append(place)
                } else if let other {
                    found.append(Flip(places: [place], strategy: other, gain: 1))
                }
                last = other
            }
        }
        for index in found.indices {
            found[index].gain =
                ratio(found[index].strategy, to: strategy, in: found[index].places)?.value ?? 1
        }
        return found
    }
}

extension VerdictTable.Figures {
    /// The median of the repeats, also where rounds decide the speed.
    fileprivate var repeatsSpeed: Double {
        rounds.isEmpty || repeats.isEmpty ? speed : median(Array(repeats.values))
    }
}
