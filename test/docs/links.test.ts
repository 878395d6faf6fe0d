import { access, glob } from 'node:fs/promises'
import t from 'tap'
import { readText, root } from '../helpers/docs.ts'

/** As GitHub makes them: lower case, spaces to dashes, everything else but letters, digits, dashes and underscores left out. */
const anchorsOf = (page: string): readonly string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-')
  )

t.test('every link in README.md and docs/ leads to a file of the project, and to a heading that is there', async t => {
  for await (const file of glob(['README.md', 'docs/**/*.md'], { cwd: root })) {
    const page = await readText(file)
    for (const [, link = ''] of page.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const { href, hash } = new URL(link, new URL(file, root))
      const target = new URL(href.replace(/#.*$/, ''))
      const exists = await access(target).then(
        () => true,
        () => false
      )
      if (!t.ok(exists, `${file}: ${link}`) || hash === '') continue
      const path = target.href.slice(root.href.length)
      t.ok(anchorsOf(await readText(path)).includes(hash.slice(1)), `${file}: ${link}`)
    }
  }
})
