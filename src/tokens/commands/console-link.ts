import { anyText, timestamp } from '../../core/field.ts';
import { responseObject } from '../../core/object.ts';
import { actionCommand } from '../../cli/commands/action-command.ts';
import { writeLine } from '../../cli/output/write-line.ts';

export const consoleLink = actionCommand({
  name: 'console',
  description:
    'print a link that signs a browser in to the web console with the token in use; the link works once, within a minute',
  summary: 'print a link to sign in to the web console',
  request: 'POST /console/code',
  response: responseObject({ code: anyText(), expires_at: timestamp() }),
  examples: ['tsigil console', 'xdg-open "$(tsigil console)"'],
  print({ code }, { connection, terminal }) {
    // A browser sends no fragment to a server, so no log and no proxy has the code.
    writeLine(terminal.out, `${connection.url}/console/#code=${encodeURIComponent(code)}`);
  },
});
