import type { LocalServers } from './running-server.ts';

/** Asks the operator for confirmation. Throws if the reply is not yes. */
export type Ask = (question: string) => Promise<void>;

export type SecretWork = 'scrub' | 'reset' | 'accept';

/**
 * The commands that run on this machine instead of sending HTTP requests. The main program
 * implements them.
 */
export interface LocalCommands extends LocalServers {
  /** If `again`, also serves a database that was copied to another. */
  serve(config: string | undefined, again: boolean): Promise<void>;
  checkConfig(config: string | undefined, connect: boolean): Promise<void>;
  /** Runs the agent of a name server. If `isCheck`, only checks the requirements of the agent. */
  agent(config: string, isCheck: boolean): Promise<void>;
  backUp(config: string | undefined, target: string): Promise<void>;
  /**
   * Replaces the database with a backup, after `ask` confirms. With `revive`, tokens and keys that
   * were deleted since become valid again. Returns the text to print.
   */
  restore(config: string | undefined, source: string, revive: boolean, ask: Ask): Promise<string>;
  migrate(config: string | undefined): Promise<void>;
  newMasterKey(file: string): Promise<string>;
  /**
   * Removes the remains of former secrets (`scrub`) or unreadable secrets (`reset`), or takes over
   * what no key of the database protects (`accept`), after `ask` confirms. Returns the text to print.
   */
  maintainSecrets(work: SecretWork, config: string | undefined, ask: Ask): Promise<string>;
  copyDatabase(
    config: string | undefined,
    copy: {
      readonly from: string;
      readonly to: string;
      readonly fromMasterKeyFile: string | undefined;
      readonly again: boolean;
    },
  ): Promise<void>;
}

/** Loads the commands, because the client needs none of them. */
export type LoadLocalCommands = () => Promise<LocalCommands>;
