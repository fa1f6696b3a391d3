import { adoption } from './adoption/commands/adopt.ts';
import { formerFiles } from './adoption/commands/former-files.ts';
import { release } from './adoption/commands/release.ts';
import { AUDIT } from './audit/commands/audit-commands.ts';
import { tableAdder } from './cli/all-commands.ts';
import { resourceGroup, type Further } from './cli/commands/resource-commands.ts';
import { keyStatus } from './delivery/commands/deliveries.ts';
import { DELIVERY, SERVER_ACTIONS } from './delivery/commands/name-servers.ts';
import { keyExport } from './keys/commands/export.ts';
import { keyGrants } from './keys/commands/grants.ts';
import { keyImport } from './keys/commands/import-command.ts';
import { keyVerify } from './keys/commands/verify.ts';
import { LOCAL_COMMANDS, loadOperator } from './local-commands.ts';
import { RESOURCE_COMMANDS } from './resource-table.ts';
import { LIFECYCLE_COMMANDS } from './rotation/commands/lifecycle.ts';
import { keyRotation } from './rotation/commands/rotation.ts';
import { encryption } from './secrets/commands.ts';
import { status } from './status/commands.ts';
import { tldImport } from './tlds/commands.ts';
import { consoleLink } from './tokens/commands/console-link.ts';
import { tokenRevoke } from './tokens/commands/revoke.ts';
import { login, logout, PROFILE, whoami } from './tokens/commands/sign-in.ts';
import { keyUses, readClients } from './uses/commands.ts';

/** What resources have besides their verbs, by noun. */
const FURTHER: Readonly<Record<string, Further>> = {
  tld: { commands: [tldImport] },
  tsigkey: {
    summary: 'keys: create, set, export, import, verify, rotate, grants, uses',
    commands: [
      keyExport,
      keyImport(loadOperator),
      keyVerify,
      keyGrants,
      keyStatus,
      keyUses,
      keyRotation(readClients),
      ...LIFECYCLE_COMMANDS,
    ],
  },
  nameserver: {
    summary: 'create, list, show, set and delete name servers',
    commands: [...SERVER_ACTIONS, adoption(loadOperator), release(loadOperator)],
  },
  token: { commands: [tokenRevoke] },
};

/** Adds all commands to the program, in the order of its help. */
export const addAllCommands = tableAdder({
  resources: RESOURCE_COMMANDS.map((each) => resourceGroup(each, FURTHER[each.type.noun])),
  client: [
    login,
    logout,
    whoami,
    status([formerFiles(loadOperator)]),
    PROFILE,
    consoleLink,
    DELIVERY,
  ],
  service: [...LOCAL_COMMANDS, encryption(loadOperator), AUDIT],
});
