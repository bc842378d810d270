package telegram

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/gate"
)

// What of the Bot API is used, as it goes over the wire. Unknown members are left
// out: Telegram adds some with each version.

type envelope struct {
	OK          bool           `json:"ok"`
	Result      jsontext.Value `json:"result"`
	ErrorCode   int            `json:"error_code"`
	Description string         `json:"description"`
	Parameters  struct {
		RetryAfter int64 `json:"retry_after"` // seconds
		Migrate    int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

type update struct {
	ID      int64     `json:"update_id"`
	Message *message  `json:"message"`
	Edited  *message  `json:"edited_message"`
	Press   *callback `json:"callback_query"`
}

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	Username  string `json:"username"`
}

type chat struct {
	ID int64 `json:"id"`
}

type message struct {
	ID          int64          `json:"message_id"`
	From        *user          `json:"from"`
	Chat        chat           `json:"chat"`
	Date        int64          `json:"date"` // Unix seconds; 0: a message that the bot can't look at
	Text        string         `json:"text"`
	Forward     jsontext.Value `json:"forward_origin"` // there on forwarded messages
	ForwardDate int64          `json:"forward_date"`   // the same, of older servers
}

type callback struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Inline  string   `json:"inline_message_id"`
	Data    string   `json:"data"`
}

type button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

type keyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

// entity marks a part of a text. A block of code keeps Telegram's programs from making
// links and commands of what an agent wrote.
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"` // UTF-16 units
	Length int    `json:"length"`
}

// noPreview keeps Telegram's servers from fetching an address that an agent wrote.
type noPreview struct {
	Disabled bool `json:"is_disabled"`
}

type replyTo struct {
	Message int64 `json:"message_id"`
	Anyway  bool  `json:"allow_sending_without_reply"`
}

// outgoing is sendMessage and editMessageText.
type outgoing struct {
	Chat     int64     `json:"chat_id"`
	Message  int64     `json:"message_id,omitempty"`
	Text     string    `json:"text"`
	Entities []entity  `json:"entities,omitempty"`
	Preview  noPreview `json:"link_preview_options"`
	Reply    *replyTo  `json:"reply_parameters,omitempty"`
	Keyboard *keyboard `json:"reply_markup,omitempty"`
}

// markup is editMessageReplyMarkup: without a keyboard it takes the buttons away.
type markup struct {
	Chat    int64 `json:"chat_id"`
	Message int64 `json:"message_id"`
}

type pressAnswer struct {
	ID    string `json:"callback_query_id"`
	Text  string `json:"text"`
	Alert bool   `json:"show_alert"`
}

type poll struct {
	Offset  int64    `json:"offset"`
	Limit   int      `json:"limit"`
	Timeout int      `json:"timeout"` // s
	Kinds   []string `json:"allowed_updates"`
}

// unmarshalLoosely leaves what stands inside of raw values to whoever reads those.
func unmarshalLoosely(b []byte, out any) error {
	return jsonv2.Unmarshal(b, out, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// decodeUpdates reads the result of getUpdates. An update that can't be read is left
// out and counted, so that one of a new kind, or a broken one, keeps no stop and no
// press from being seen; its id, where it has one, is still gone beyond. last is the
// highest id of all, -1 without any.
func decodeUpdates(raw []byte) (ups []update, last int64, broken int, err error) {
	var each []jsontext.Value
	if err := unmarshalLoosely(raw, &each); err != nil {
		return nil, -1, 0, err
	}
	if each == nil {
		return nil, -1, 0, gate.Errf(gate.CodeInvalidArgument, "result", "there is no list of updates")
	}
	last = -1
	for _, one := range each {
		var u update
		if err := jsonv2.Unmarshal(one, &u); err == nil && u.ID >= 0 {
			ups, last = append(ups, u), max(last, u.ID)
			continue
		}
		broken++
		var id struct {
			ID int64 `json:"update_id"`
		}
		// The lenient decoder: what is wrong may be what the strict one stumbles over.
		if json.Unmarshal(one, &id) == nil {
			last = max(last, id.ID)
		}
	}
	return ups, last, broken, nil
}
