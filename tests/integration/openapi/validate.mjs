// Holds a description of an HTTP surface against the schema of its OpenAPI version: exit code 1 with what is wrong.
import { Validator } from '@seriousme/openapi-schema-validator'

const validator = new Validator()
const result = await validator.validate(process.argv[2])
if (!result.valid) console.error(JSON.stringify(result.errors, null, 1))
else console.log(validator.version)
process.exit(result.valid ? 0 : 1)
