package import LatchkeyHTTP
internal import LatchkeyStrategies

/// Places that all clients use, and of which each client gets no more than its share.
///
/// One lock guards the counts. A client without a place takes no memory.
package final class SharedPlaces: Sendable {
    /// The result of a request for a place.
    package enum Entry: Sendable {
        case entered
        /// All places are taken.
        case full
        /// The client has its share of them.
        case shareTaken
    }

    private struct Counts: Sendable {
        var all = 0
        var byClient: [ClientKey: Int] = [:]
    }

    private let countMax: Int
    private let clientCountMax: Int
    private let refusals: ShareRefusals?
    private let counts = Synchronized<Counts, AdaptiveStrategy>(Counts())

    /// - Parameters:
    ///   - countMax: How many places there are.
    ///   - clientCountMax: How many of them one client can have.
    ///   - refusals: Counts clients that have their share; nil if they are not refused.
    package init(countMax: Int, clientCountMax: Int, refusals: ShareRefusals? = nil) {
        self.countMax = countMax
        self.clientCountMax = clientCountMax
        self.refusals = refusals
    }

    /// How many places are taken.
    package var count: Int { counts.read { $0.all } }

    /// Takes a place, which must be given back with ``leave(_:)``.
    package func enter(_ client: ClientKey) -> Entry {
        let entry = counts.write { counts -> Entry in
            guard counts.all < countMax else {
                return .full
            }
            guard counts.byClient[client, default: 0] < clientCountMax else {
                return .shareTaken
            }
            counts.all += 1
            counts.byClient[client, default: 0] += 1
            return .entered
        }
        if entry == .shareTaken {
            refusals?.add()
        }
        return entry
    }

    /// Gives a place back.
    package func leave(_ client: ClientKey) {
        counts.write { counts in
            counts.all -= 1
            let count = counts.byClient[client, default: 0] - 1
            counts.byClient[client] = count > 0 ? count : nil
        }
    }
}

extension SharedPlaces {
    /// Takes a place, or throws the problem to answer with.
    ///
    /// - Parameters:
    ///   - client: The client that takes it.
    ///   - problem: The problem if all places are taken.
    ///   - places: The name of the places for a client that has its share.
    /// - Throws: The problem, or a failure that says that the client has its share.
    package func enter(
        _ client: ClientKey,
        orFail problem: Problem,
        _ places: String
    ) throws(RequestFailure) {
        switch enter(client) {
        case .entered: break
        case .full: throw RequestFailure(problem)
        case .shareTaken: throw .shareTaken("\(clientCountMax) \(places)")
        }
    }
}

extension RequestFailure {
    /// The failure of a client that has its share.
    ///
    /// - Parameter share: The share, such as `256 watches and long polls (--max-watchers)`.
    /// - Returns: The failure.
    package static func shareTaken(_ share: String) -> RequestFailure {
        RequestFailure(
            .clientShareTaken,
            "This client, a token or else an address, has its share: \(share). Raise "
                + "--client-share or that limit. If the address is a proxy's, name it with "
                + "--trusted-proxy."
        )
    }
}
