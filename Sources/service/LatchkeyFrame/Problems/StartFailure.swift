/// The reason why a service does not start: a sentence.
package struct StartFailure: Error, Sendable {
    package let reason: String
    /// A signal asked for the end; nothing has failed.
    package var isAsked: Bool

    package init(reason: String, isAsked: Bool = false) {
        self.reason = reason
        self.isAsked = isAsked
    }
}
