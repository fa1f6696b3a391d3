import { REPORTING_UNKNOWN_KEYS } from '../../brands/brands.ts';
import { KEY_REMOVAL_BODY, RECONCILE_BODY, RESUME_BODY } from '../requests.ts';
import { SETUP } from '../actions/setup.ts';
import { NAME_SERVER_CHECK, REQUESTED, RESUMED } from '../responses.ts';
import { nameServer } from '../../resources/name-server.ts';
import { toggle } from '../../cli/flags/flag.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { printList } from '../../cli/output/output.ts';
import { plainLines } from '../../cli/output/plain-text.ts';
import { writeLine } from '../../cli/output/write-line.ts';
import { givenName } from '../../cli/service/resource-requests.ts';
import { actionCommand, columnsIn } from '../../cli/commands/action-command.ts';

export const SERVER_ACTIONS = [
  actionCommand({
    name: 'check',
    description:
      'check the requirements for delivery to a nameserver; exit with 1 if a requirement is not met',
    about: nameServer,
    request: 'GET /v2/nameservers/{id}/check',
    response: NAME_SERVER_CHECK,
    columns: columnsIn(NAME_SERVER_CHECK, 'requirements'),
    examples: ['tsigil nameserver check ns1'],
    async print({ requirements }, { argument, columns, connection, flags, terminal }) {
      printList(terminal, requirements, columns, flags);
      const unmet = requirements.filter(({ ok }) => !ok);
      if (unmet.length === 0) return;
      const name = await givenName(connection, nameServer, argument);
      throw new CommandError(
        EXIT.refused,
        `${unmet.length} of ${requirements.length} requirements of '${name}' are not met`,
      );
    },
  }),
  actionCommand({
    name: 'reconcile',
    description: 'compare the keys on a nameserver with the desired keys now, and verify all keys',
    about: nameServer,
    request: 'POST /v2/nameservers/{id}/reconcile',
    body: RECONCILE_BODY,
    response: REQUESTED,
    examples: ['tsigil nameserver reconcile ns1', 'tsigil nameserver reconcile ns1 --confirm'],
    async print(_, { argument, connection, terminal }) {
      const name = await givenName(connection, nameServer, argument);
      writeLine(terminal.out, `Requested a comparison of '${name}'.`);
    },
  }),
  actionCommand({
    name: 'remove-key',
    description: `remove a key from a ${REPORTING_UNKNOWN_KEYS} server that the database lacks: one of unknown_keys of the nameserver`,
    about: nameServer,
    request: 'POST /v2/nameservers/{id}/remove-key',
    body: KEY_REMOVAL_BODY,
    own: { name: { flag: '<key>', description: 'name of the key' } },
    flags: { force: toggle('remove the key even if a zone of the nameserver names it') },
    response: REQUESTED,
    examples: ['tsigil nameserver remove-key ns4 former-key'],
    print: (_, { others: [name], terminal }) =>
      writeLine(terminal.out, `Requested the removal of '${name}'.`),
  }),
  actionCommand({
    name: 'onboard',
    description:
      'print the steps to set up a nameserver and its agent: configuration, token and start',
    about: nameServer,
    request: 'GET /v2/nameservers/{id}/setup?zones=all',
    response: SETUP,
    examples: ['tsigil nameserver onboard ns1', 'tsigil nameserver onboard ns1 > steps.txt'],
    print({ steps, later }, { terminal }) {
      const texts = steps.map(({ title, text }, index) => `# ${index + 1}. ${title}\n${text}\n\n`);
      terminal.out.write(plainLines(`${texts.join('')}${later}\n`));
    },
  }),
];

export const DELIVERY = {
  name: 'delivery',
  description: 'resume the delivery of keys that is held',
  summary: 'resume the delivery of keys after the restore of a backup',
  examples: ['tsigil delivery resume'],
  commands: [
    actionCommand({
      name: 'resume',
      description:
        'end the state held: make the keys on the nameservers equal to the keys in the database, after a backup was restored',
      request: 'POST /v2/deliveries/resume',
      body: RESUME_BODY,
      own: {
        nameserver_id: {
          flag: '--nameserver <nameserver>',
          description: 'resume only this nameserver, by id or name',
          refersTo: nameServer,
        },
      },
      response: RESUMED,
      examples: ['tsigil delivery resume', 'tsigil delivery resume --nameserver ns1'],
      print({ resumed }, { terminal }) {
        const names = resumed.map((name) => `'${name}'`).join(', ');
        writeLine(
          terminal.out,
          names === '' ? 'Delivery is not held.' : `Resumed delivery to ${names}.`,
        );
      },
    }),
  ],
};
