/** What each screen gets. */
export interface ScreenProps {
  /** The parts of the path after the first. */
  readonly path: readonly string[];
}
