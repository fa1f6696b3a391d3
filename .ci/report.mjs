import { JsonReporter } from 'vitest/node';

/**
 * The JSON report of vitest, and the errors outside of tests as a file that failed. Without them, a
 * test that fails would explain the exit code of a run that also lost a worker.
 */
export default class extends JsonReporter {
  #errors = [];

  async onTestRunEnd(modules, errors) {
    this.#errors = errors;
    await super.onTestRunEnd(modules);
  }

  async writeReport(text) {
    const report = JSON.parse(text);
    if (this.#errors.length > 0)
      report.testResults.push({
        name: 'outside of tests',
        status: 'failed',
        message: this.#errors
          .map(({ message, cause }) => [message, cause?.message].filter(Boolean).join(': '))
          .join('\n'),
        startTime: 0,
        endTime: 0,
        assertionResults: [],
      });
    await super.writeReport(JSON.stringify(report));
  }
}
