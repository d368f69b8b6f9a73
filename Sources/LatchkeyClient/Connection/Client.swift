internal import Glibc

/// A client of one service: requests that are repeated where that does no harm, and failures that
/// know their exit status.
package final class Client {
    package let connection: ServiceConnection

    /// A request whose answer was lost is sent so many times in all.
    private static let attemptsMax = 3
    private static let pauseMicroseconds: UInt32 = 200_000

    package init(_ connection: ServiceConnection) {
        self.connection = connection
    }

    /// Sends a request, and returns an answer with a status of 2xx.
    ///
    /// A request that can be repeated is repeated if its answer was lost.
    package func send(_ request: ClientRequest) throws(ClientFailure) -> ClientAnswer {
        let answer = try exchange(request)
        guard answer.isSuccess else { throw failure(answer) }
        return answer
    }

    /// The failure that an answer is.
    package func failure(_ answer: ClientAnswer) -> ClientFailure {
        ClientFailure(answer, from: connection.origin, hasToken: connection.hasToken)
    }

    /// The failure that no answer is.
    package func failure(_ failure: ConnectionFailure) -> ClientFailure {
        ClientFailure(.failed, "\(connection.origin): \(failure.message).")
    }

    private func exchange(_ request: ClientRequest) throws(ClientFailure) -> ClientAnswer {
        var attempt = 1
        while true {
            do throws(ConnectionFailure) {
                return try connection.send(request)
            } catch {
                guard request.isRepeatable, error.kind == .broken, attempt < Self.attemptsMax else {
                    throw failure(error)
                }
            }
            usleep(Self.pauseMicroseconds)
            attempt += 1
        }
    }
}
