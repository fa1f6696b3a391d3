import { expect, test } from 'vitest';
import { resourceDefinitions } from '../../src/domain/resources/describe-resource.ts';
import { consolePages, hasChromium } from '../harness/chromium.ts';
import { createKey } from '../harness/delivery.ts';
import { startTestService } from '../harness/service.ts';

const FIELD = {
  name: 'colour',
  label: 'Colour',
  kind: 'enumeration',
  description: 'The colour of the key.',
  required: false,
  choices: [{ value: 'red' }, { value: 'green' }],
  set: 'always',
  nullable: true,
};

const { start, enter } = consolePages();

test.skipIf(!hasChromium())(
  'a field that is added to a definition is in the filters, the columns and the form',
  async () => {
    const { tsigkeys } = resourceDefinitions();
    if (tsigkeys === undefined) throw new Error('There is no definition');
    // The service describes its resources once, and sends this description with each session.
    const { fields, filters } = tsigkeys as unknown as { fields: object[]; filters: string[] };
    fields.push(FIELD);
    filters.push(FIELD.name);
    try {
      const service = await startTestService();
      await createKey(service, 'described.example');
      await start(service);
      const { page } = await enter('keys');
      await page.getByRole('link', { name: 'described.example' }).waitFor();

      const colours = page.getByLabel('Colour', { exact: true }).first();
      expect(await colours.locator('option').allTextContents()).toEqual(['Any', 'red', 'green']);

      await page.getByRole('columnheader', { name: 'Colour' }).waitFor();

      await page.getByRole('button', { name: 'New key' }).first().click();
      const form = page.getByRole('dialog', { name: 'New key' });
      await form.getByRole('radio', { name: 'green' }).check();
      await form.getByText(FIELD.description).waitFor();
    } finally {
      fields.pop();
      filters.pop();
    }
  },
);
