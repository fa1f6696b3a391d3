import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandsBelow, examplesOf, optionsOf } from '../../src/cli/flags/help.ts';
import { runCommands } from '../docs/shell.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { wholeProgram } from './session.ts';

const PROGRAM = await wholeProgram();
const COMMANDS = commandsBelow(PROGRAM);

describe('every command', () => {
  test.each(COMMANDS.map(({ words, command }) => [words.join(' '), command] as const))(
    '%s has a description and examples, and describes every flag',
    (name, command) => {
      expect(command.description()).not.toBe('');
      expect(examplesOf(command).length).toBeGreaterThan(0);
      expect(optionsOf(command).filter(({ description }) => description === '')).toEqual([]);
      const isAbout = examplesOf(command).every((example) => example.command.includes(name));
      expect(isAbout, `examples of ${name}`).toBe(true);
    },
  );
});

describe.runIf(hasProgram('openssl', 'openssl'))(
  'the examples in the help of resource types',
  () => {
    const folder = temporaryFolder();
    let service: ServiceProcess;
    beforeAll(async () => {
      service = await startServiceProcess(folder);
    });
    afterAll(() => service.stop('SIGTERM'));

    test.each(['zone', 'tld', 'tsigkey', 'pool'])(
      'the examples for %s succeed in the order of the help',
      async (noun) => {
        // The zones that the examples for keys name. They exist already after those for zones.
        for (const name of noun === 'tsigkey' ? ['example.org.', 'example.net.'] : []) {
          const sudo = { 'x-auth-sudo-project-id': 'examples' };
          const body = { name, email: 'hostmaster@example.org' };
          expect([201, 202, 409]).toContain((await service.post('/v2/zones', body, sudo)).status);
        }
        const commands = COMMANDS.filter(
          ({ words }) =>
            words[1] === noun &&
            ['create', 'list', 'show', 'set', 'delete'].includes(words[2] ?? ''),
        )
          .flatMap(({ command }) => examplesOf(command))
          .map(({ command }) => command);
        const token = `export TSIGIL_TOKEN='${service.token}'`;
        const outputs = runCommands(
          [token, ...commands.map((command) => `set -o pipefail; ${command}; echo "exit code $?"`)],
          folder,
          service.url,
        );
        expect(commands.length).toBeGreaterThan(4);
        for (const [index, command] of commands.entries())
          expect(outputs[index + 1]?.trimEnd(), command).toMatch(/exit code 0$/);
      },
    );
  },
);
