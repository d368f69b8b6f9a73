/// Why a service does not start: a sentence.
package struct StartFailure: Error, Sendable {
    package let reason: String
    /// A signal asked for the end; nothing has failed.
    package var isAsked: Bool

    /// A setting is wrong, or the file that it names: to start again does not help.
    package let isMistake: Bool

    package init(reason: String, isAsked: Bool = false, isMistake: Bool = false) {
        self.reason = reason
        self.isAsked = isAsked
        self.isMistake = isMistake
    }
}
