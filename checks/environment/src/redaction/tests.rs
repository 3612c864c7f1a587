//! What is masked, what is left alone, and that masking twice changes nothing.

use super::*;

/// Text, what it must become, the kind of the only secret in it. `TAIL` stands for a run of mixed characters; tokens
/// are put together here so that no scanner takes this file for a leak.
fn positives() -> Vec<(String, String, MaskedKind)> {
    use MaskedKind::*;
    let tail = |n: usize| "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7".chars().cycle().take(n).collect::<String>();
    let upper = |n: usize| "A3D6G9J2M5P8S1V4Y7".chars().cycle().take(n).collect::<String>();
    let mut all = Vec::new();
    let mut add = |text: String, masked: &str, kind| all.push((text, masked.to_owned(), kind));

    for (text, masked) in [
        ("https://user:pass@host/x", "https://***@host/x"),
        ("https://tok3n@host/simple", "https://***@host/simple"),
        ("https://user:@host", "https://***@host"),
        ("https://:pass@host", "https://***@host"),
        ("https://user%40corp:p%3Ass%2Fword@host:8443/x?y#z", "https://***@host:8443/x?y#z"),
        ("https://user:p@ss@host/x", "https://***@host/x"),
        ("see <http://a:b@[::1]:80/>", "see <http://***@[::1]:80/>"),
        ("git+https://oauth2:abc@gitlab.example/x.git@main", "git+https://***@gitlab.example/x.git@main"),
        ("postgres://u:p@db:5432/x", "postgres://***@db:5432/x"),
        ("redis://:pw@cache:6379/0", "redis://***@cache:6379/0"),
        ("postgres://u:pa/ss#word@db/x", "postgres://***@db/x"),
        ("HTTPS://User:Pass@Host", "HTTPS://***@Host"),
        ("{\"url\": \"https:\\/\\/u:p@h\"}", "{\"url\": \"https:\\/\\/***@h\"}"),
        ("next=https%3A%2F%2Fuser%3Apass%40host%2Fx", "next=https%3A%2F%2F***%40host%2Fx"),
        ("next=https%3a%2f%2ftoken%40host", "next=https%3a%2f%2f***%40host"),
        ("ssh://alice@host/x", "ssh://***@host/x"),
    ] {
        add(text.into(), masked, UrlCredentials);
    }
    for (text, masked) in [
        ("https://b.blob/x?se=1&sig=aB%2Bc%3D&sp=r", "https://b.blob/x?se=1&sig=***&sp=r"),
        ("https://s3/x?X-Amz-Signature=0a1b", "https://s3/x?X-Amz-Signature=***"),
    ] {
        add(text.into(), masked, UrlSignature);
    }
    add(
        format!("https://hooks.slack.com/services/T000/B000/{}", tail(24)),
        "https://hooks.slack.com/services/***",
        UrlSignature,
    );
    for (text, masked) in [
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer ***"),
        ("authorization: Basic dXNlcjpw", "authorization: Basic ***"),
        ("-H 'Authorization: token 0123456789'", "-H 'Authorization: token ***'"),
        ("{\"Authorization\": \"Bearer xyz\"}", "{\"Authorization\": \"Bearer ***\"}"),
        ("sent bearer 0123456789abcdef0123", "sent bearer ***"),
    ] {
        add(text.into(), masked, Authorization);
    }
    add(format!("jwt eyJ{}.eyJ{}.{}", tail(20), tail(30), tail(43)), "jwt ***", JsonWebToken);
    for token in [
        format!("AKIA{}", upper(16)),
        format!("ASIA{}", upper(16)),
        format!("ghp_{}", tail(36)),
        format!("gho_{}", tail(36)),
        format!("ghs_{}", tail(36)),
        format!("ghu_{}", tail(36)),
        format!("github_pat_{}_{}", tail(22), tail(59)),
        format!("glpat-{}", tail(20)),
        format!("hf_{}", tail(34)),
        format!("sk-{}", tail(48)),
        format!("sk-proj-{}_{}", tail(30), tail(20)),
        format!("sk-ant-api03-{}-{}", tail(40), tail(40)),
        format!("xoxb-123456789012-{}", tail(24)),
        format!("xoxp-123456789012-{}", tail(24)),
        format!("AIza{}", tail(35)),
        format!("npm_{}", tail(36)),
        format!("pypi-AgEIcHlwaS5vcmc{}", tail(60)),
        format!("sk_live_{}", tail(24)),
        format!("dapi{}", "0123456789abcdef".repeat(2)),
        format!("SG.{}.{}", tail(22), tail(43)),
    ] {
        add(format!("found {token} here"), "found *** here", ProviderToken);
        add(format!("'{token}'"), "'***'", ProviderToken);
        add(format!("line\\n{token}"), "line\\n***", ProviderToken);
        add(format!("\u{1b}[1;32m{token}\u{1b}[0m"), "\u{1b}[1;32m***\u{1b}[0m", ProviderToken);
        add(format!("q=x%3D{token}"), "q=x%3D***", ProviderToken);
        add(format!("(é{token})"), "(é***)", ProviderToken);
    }
    for (text, masked) in [
        ("password=hunter2", "password=***"),
        ("password=hunter", "password=***"),
        ("PASSWORD=hunter2 next", "PASSWORD=*** next"),
        ("token=abc", "token=***"),
        ("secret=abc", "secret=***"),
        ("api_key=abc", "api_key=***"),
        ("api-key=abc", "api-key=***"),
        ("apikey='abc def'", "apikey='***'"),
        ("db_password = \"hunter2\"", "db_password = \"***\""),
        ("password = \"it's \\\"it\\\"\"", "password = \"***\""),
        ("password: hunter2", "password: ***"),
        ("password: str = 'x1'", "password: str = '***'"),
        ("{\"password\": \"hunter2\"}", "{\"password\": \"***\"}"),
        ("{\\\"api_key\\\": \\\"abc\\\"}", "{\\\"api_key\\\": \\\"***\\\"}"),
        ("os.environ[\"HF_TOKEN\"] = \"abc\"", "os.environ[\"HF_TOKEN\"] = \"***\""),
        ("export AWS_SECRET_ACCESS_KEY=wJalr/XUtn+FEMI", "export AWS_SECRET_ACCESS_KEY=***"),
        ("https://h/x?access_token=abc&page=2", "https://h/x?access_token=***&page=2"),
        ("//registry.npmjs.org/:_authToken=abc123", "//registry.npmjs.org/:_authToken=***"),
        ("//registry.npmjs.org/:_auth=YWJj", "//registry.npmjs.org/:_auth=***"),
        ("AccountKey=abc123==;EndpointSuffix=x", "AccountKey=***;EndpointSuffix=x"),
        ("login --password hunter2 -u x", "login --password *** -u x"),
        ("login --password 'two words' -u x", "login --password '***' -u x"),
        ("login --db-password \"p@ss $1\"", "login --db-password \"***\""),
        ("huggingface-cli login --token abc123", "huggingface-cli login --token ***"),
        ("X-API-Key: 0a1b2c3d", "X-API-Key: ***"),
        ("if password == 'hunter2':", "if password == '***':"),
        ("clientSecret: 'abc'", "clientSecret: '***'"),
        ("pwd=hunter2", "pwd=***"),
    ] {
        add(text.into(), masked, Assignment);
    }
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123456789\nabcdef==\n-----END RSA PRIVATE KEY-----";
    add(format!("a\n{key}\nb"), "a\n-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nb", PrivateKey);
    add(
        key.replace("RSA ", "OPENSSH ").replace('\n', "\\n"),
        "-----BEGIN OPENSSH PRIVATE KEY-----***-----END OPENSSH PRIVATE KEY-----",
        PrivateKey,
    );
    add(
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n".into(),
        "-----BEGIN PRIVATE KEY-----***\n",
        PrivateKey,
    );
    all
}

const NEGATIVES: &[&str] = &[
    "",
    "ordinary words, a token of thanks, the secret of success, no password needed",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  weights.safetensors",
    "--hash=sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
    "revision da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "half_e3b0c44298fc1c149afbf4c8996fb92427ae41e4",
    "https://host/x",
    "https://host:8080/path@2x.png",
    "http://[::1]:8080/a@b",
    "https://pypi.org/simple?a=b@c",
    "git+ssh://git@github.com/owner/repo.git",
    "git@github.com:owner/repo.git",
    "mail ada@example.org",
    "file:///srv/data/a@b.parquet",
    "https://host/a:b@c",
    "pkg @ https://host/pkg-1.0.whl",
    "tokenizer = AutoTokenizer.from_pretrained(name)",
    "token = tokenizer.decode(ids)",
    "token = tokens[i]",
    "for token in doc: print(token.text)",
    "max_tokens=512",
    "num_tokens: 30522",
    "token=512",
    "token: 3000",
    "pad_token=\"[PAD]\"",
    "eos_token='</s>'",
    "unk_token='unknown'",
    "tokenizer.pad_token = tokenizer.eos_token",
    "{'token': 3000, 'token_str': 'paris'}",
    "{\"token\": \"Paris\", \"score\": 0.9}",
    "if token == 'the':",
    "login(password=password)",
    "connect(token=hf_token)",
    "f(api_key=self.config.api_key)",
    "f(token=args.token)",
    "password=os.environ['PASSWORD']",
    "password=getpass()",
    "token=get_token(x)",
    "token=$TOKEN",
    "token=${TOKEN}",
    "password=$(cat x)",
    "f'token={token}'",
    "token=%s",
    "password=None",
    "password: str",
    "token: Optional[str] = None",
    "let token: String;",
    "token::Kind",
    "password=",
    "password=\"\"",
    "api_key=<your key>",
    "secret=***",
    "password: required",
    "Password: ",
    "the password: must be long",
    "use_auth_token=True",
    "token_type=bearer",
    "PWD=/srv/work",
    "OLDPWD=/srv",
    "token=/run/secrets/token",
    "--token TOKEN",
    "--password <PASSWORD>",
    "--token  the token to use",
    "--token \"$HF_TOKEN\"",
    "--password ''",
    "secrets.token_hex(16)",
    "Authorization: Bearer {token}",
    "Authorization: Bearer $TOKEN",
    "Bearer authentication",
    "the bearer token authentication scheme",
    "sk-learn",
    "sk-toggleable__label-arrow",
    "sk-estimator-doc-link fitted",
    "class=\"sk-container-id-1 sk-text-repr-fallback\"",
    "skeleton",
    "hf_hub_download",
    "hf_transformers_internationalization",
    "npm_config_registry",
    "pypi-mirror-configuration-for-the-local-network",
    "AKIA is a prefix",
    "eyJhbGciOi",
    "xoxo",
    "AIza",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "text.startswith('-----BEGIN PRIVATE KEY-----')\nprint('and more')",
    "é ü 漢字 🦀 ***",
    "cosine.min = 0.9987654321",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
];

#[test]
fn every_rule_compiles() {
    assert_eq!(rules::table().len(), rules::SOURCES.len());
}

#[test]
fn secrets_are_masked_and_counted() {
    let mut wrong = Vec::new();
    for (text, expected, kind) in positives() {
        let masked = mask(&text);
        if masked.text != expected || masked.masked != [(kind, 1)] {
            wrong.push(format!("{text:?}\n  gave {:?} {:?}\n  not  {expected:?} {kind:?}", masked.text, masked.masked));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ordinary_text_digests_and_code_are_left_alone() {
    let mut wrong = Vec::new();
    for text in NEGATIVES {
        let masked = mask(text);
        if masked.text != *text {
            wrong.push(format!("{text:?}\n  gave {:?} {:?}", masked.text, masked.masked));
        }
        assert!(masked.masked.is_empty() == matches!(masked.text, Cow::Borrowed(_)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn several_secrets_in_one_text_are_all_masked() {
    let text = "https://a:b@h/ https://c@h/ password=x1 token='y2'";
    let masked = mask(text);
    assert_eq!(masked.text, "https://***@h/ https://***@h/ password=*** token='***'");
    assert_eq!(masked.masked, [(MaskedKind::UrlCredentials, 2), (MaskedKind::Assignment, 2)]);
    assert_eq!(masked.count(), 4);
}

/// Fragments of secrets and signs, glued together in many orders by a fixed generator.
#[test]
fn masking_masked_text_changes_nothing() {
    let positives = positives();
    let signs = [
        "",
        " ",
        "\n",
        "=",
        ":",
        "@",
        "/",
        "\"",
        "'",
        "\\n",
        "&",
        "password=",
        "token: ",
        "https://",
        "***",
        "%40",
        "é",
    ];
    let mut state = 7u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..1 + next(5) {
            text.push_str(match next(3) {
                0 => &positives[next(positives.len())].0,
                1 => NEGATIVES[next(NEGATIVES.len())],
                _ => signs[next(signs.len())],
            });
        }
        let once = mask(&text).text.into_owned();
        let twice = mask(&once);
        assert!(twice.masked.is_empty(), "{text:?}\n  once  {once:?}\n  twice {:?} {:?}", twice.text, twice.masked);
    }
}

#[test]
fn masking_is_linear_in_the_length_of_the_text() {
    // A rule that went back to the start for each candidate would take minutes here.
    for text in
        ["a".repeat(2 << 20), "password".repeat(100_000), "https://a:".repeat(100_000), "eyJaaaaaaaa.".repeat(50_000)]
    {
        let started = std::time::Instant::now();
        let _ = mask(&text);
        assert!(started.elapsed().as_secs() < 20, "{:?} for {:?}…", started.elapsed(), &text[..12]);
    }
}

fn ada() -> Personal {
    Personal::new([std::path::PathBuf::from("/home/ada"), "/srv/homes/ada".into()], ["ada"], ["ada-laptop"])
}

#[test]
fn a_json_value_is_concealed_to_its_leaves_in_one_pass() {
    let mut value = serde_json::json!({
        "a": ["https://u:p@h", 1, null], "b": {"c": "/home/ada/x", "d": "/srv/homes/ada/x by ada on ada-laptop"},
    });
    assert_eq!(conceal(&mut value, &ada()), 1);
    assert_eq!(
        value,
        serde_json::json!({"a": ["https://***@h", 1, null], "b": {"c": "~/x", "d": "~/x by <user> on <host>"}})
    );
    assert_eq!(conceal(&mut value, &ada()), 0);
}

#[test]
fn a_value_is_masked_for_the_key_it_stands_under_and_counted_once() {
    let mut value = serde_json::json!({
        "password": "hunter2", "api_key": "line\n\"quoted\"", "token": "Paris", "keys": "abc", "pad_token": "[PAD]",
        "secret": ["not by key"], "passed": "yes",
    });
    assert_eq!(conceal(&mut value, &ada()), 2);
    let expected = serde_json::json!({
        "password": "***", "api_key": "***", "token": "Paris", "keys": "abc", "pad_token": "[PAD]",
        "secret": ["not by key"], "passed": "yes",
    });
    assert_eq!(value, expected);
}

#[test]
fn keys_are_concealed_too_and_none_takes_anothers_place() {
    let mut value = serde_json::json!({
        "https://u:one@h": 1, "https://u:two@h": 2, "/home/ada/x": {"ada@ada-laptop": 3}, "plain": 4,
    });
    assert_eq!(conceal(&mut value, &ada()), 2);
    assert_eq!(
        value,
        serde_json::json!({"https://***@h": 1, "https://***@h (2)": 2, "~/x": {"<user>@<host>": 3}, "plain": 4})
    );
}
