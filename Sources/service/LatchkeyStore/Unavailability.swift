/// The reason why the store takes no change at the moment.
package enum Unavailability: UInt8, Hashable, Sendable {
    /// There is no room to write it down.
    case full = 1
    /// It could not be written down.
    case failing
    /// It could not be written down, and no later one will be: the data folder is gone.
    case gone
    /// It was not ordered, and no later one will be: this replica has stopped.
    case stopped
    /// The change was made, and is not known to be written down: it can be there after a restart.
    case unknown
    /// There is little room to write it down: only a change that removes is taken.
    case low
}
