import { BRANDS } from '../brands/brands.ts';
import type { Brand } from '../brands/brand.ts';
import { joined } from '../core/text/joined.ts';

const ALL: readonly Brand[] = Object.values(BRANDS);
const CHECKERS = joined(
  ALL.flatMap(({ checker }) => checker ?? []),
  'or',
);
const UNCHECKED = joined(
  ALL.flatMap(({ title, checker }) => (checker ? [] : title)),
  'or',
);

/** What a new name server goes through before it is live, in order. */
export type Stage = 'served' | 'file' | 'key' | 'closed';

interface Explanation {
  readonly reason: string;
  readonly remedy: string;
  /** The stage that a name server with this code has not reached. Absent if the code says nothing. */
  readonly stage?: Stage;
}

/** The codes of failed deliveries. `docs/delivery.md` has the same texts. */
export const FAULTS: Readonly<Record<string, Explanation>> = {
  unreachable: {
    reason:
      'The name server does not run, or the address of its control channel, socket or API is wrong.',
    remedy: 'Start the name server, or correct the options of the driver.',
    stage: 'file',
  },
  timeout: {
    reason:
      'It did not respond in time: within 60 s to a command to load its configuration, and within 5 to 10 s to others. Some changes on PowerDNS may be complete.',
    remedy: 'Check the load of its host. The service tries again by itself.',
    stage: 'file',
  },
  not_permitted: {
    reason:
      'It refuses the control key, the certificate or the API key, or the process may not use its control socket. BIND also refuses a control key if the clocks differ by more than 60 s.',
    remedy:
      'Correct the key in the options of the driver, or add the user of the process to the group of the name server. Compare the clocks.',
    stage: 'file',
  },
  clock_skew: {
    reason: 'The clocks differ by more than TSIG allows.',
    remedy: 'Synchronise the clocks of both hosts.',
    stage: 'file',
  },
  not_verified: {
    reason: 'A signed query did not get the expected response.',
    remedy:
      "Set its probe zone if its pool has no zone that it serves. Check its address, and that the zone of the test query names Tsigil's access lists.",
    stage: 'key',
  },
  too_wide: {
    reason:
      'The name server accepts a key in a zone, or for a right, that its grants do not include: another part of its configuration names the key. If this remains so after a second attempt, only the key is failed, and the name server and its other keys are not.',
    remedy: "Remove the key from the access lists that are not Tsigil's, or widen its grants.",
    stage: 'key',
  },
  not_admitted: {
    reason:
      'The configuration of a zone names no list of Tsigil for a right of the key. Only the key is failed; the name server and its other keys are not.',
    remedy:
      "Write the list that the error names into the configuration of the zone, or limit the key's rights.",
    stage: 'key',
  },
  refused_by_server: {
    reason: 'Its configuration has an error.',
    remedy: `Run ${CHECKERS}, or read the log of ${UNCHECKED}, and correct the error.`,
    stage: 'file',
  },
  not_included: {
    reason:
      'It does not load the file, and the process cannot read its configuration to see why; or the option file is missing for a text configuration of Knot DNS.',
    remedy: 'Include the file in the configuration of the name server, and reload it.',
    stage: 'file',
  },
  not_writable: {
    reason: 'The folder is missing or not writable, or the disk is full.',
    remedy: 'Create the folder for the user of the process, or free disk space.',
    stage: 'file',
  },
  foreign_file: {
    reason:
      'The file has keys that Tsigil did not write, or belongs to another name server, or its folder has files of other programs.',
    remedy: 'Choose another file, or move the keys out of it. The check shows how to adopt it.',
    stage: 'file',
  },
  name_taken: {
    reason:
      "Another program's key on it has the name of one of Tsigil's, with another secret or algorithm, on PowerDNS with more rights, or, in a file, once the name server has loaded Tsigil's file. Or the process cannot read where a name server with the key defines it.",
    remedy:
      "Set the option configurationFile if its message names it. Otherwise rename one of the two keys, or remove the other program's.",
    stage: 'key',
  },
  undeliverable_key: {
    reason: 'No name server can use the key, because its name, algorithm or secret is invalid.',
    remedy: 'Correct the key, or delete it.',
    stage: 'key',
  },
  unreadable_secret: {
    reason: 'The secret of the key cannot be decrypted, or was lost with its master key.',
    remedy: 'Restore the master key, or set a new secret.',
    stage: 'key',
  },
  no_process: {
    reason: 'No running process of the service has the name server in its configuration.',
    remedy: 'Add the name server to the setting nameServers of a process, and restart it.',
    stage: 'served',
  },
  no_agent: {
    reason: 'The agent of the name server does not report.',
    remedy: 'Start the agent on its host, or read its log.',
    stage: 'served',
  },
  agent_mismatch: {
    reason: 'The versions of the agent and the service differ too much.',
    remedy: 'Install the version of the service on the host of the agent.',
    stage: 'served',
  },
  prepared: {
    reason: 'The name server has the state prepared: it does not load the file of Tsigil yet.',
    remedy:
      'Include the file in the configuration of the name server with one edit, and reload it.',
    stage: 'file',
  },
  open: {
    reason: 'The name server has the state open: it accepted an unsigned transfer or update.',
    remedy: 'Permit only signed requests in its configuration at once, and reconcile it.',
    stage: 'closed',
  },
  drift: {
    reason: 'The name server has other keys than the database, in too many places to list.',
    remedy: "Import the changed keys, or move them out of Tsigil's file.",
  },
  held: {
    reason:
      'The name server has the state held: another or a newer database delivered its keys last.',
    remedy: 'Import the keys to keep, delete those to revoke, and resume delivery.',
  },
  blocked_removal: {
    reason:
      'The name server has the state blocked: a change would remove more than half of its keys.',
    remedy: 'Confirm the removal, or undo the change of the pool or of the rights.',
  },
  paused: {
    reason: 'The name server has the state paused.',
    remedy: 'Continue the delivery.',
    stage: 'served',
  },
  internal: {
    reason: 'The service has a defect.',
    remedy: 'Report the line of the log.',
  },
};

export type Faults = typeof FAULTS;
